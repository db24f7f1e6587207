import { UnsecuredJWT } from 'jose'
import { afterAll, describe, expect, test } from 'vitest'
import { keySample, signWith } from '../../../tests/support/server/key-sample.ts'
import { startOidcFixture } from '../../../tests/support/server/oidc-fixture.ts'
import { oidcClient } from '../../../tests/support/server/oidc-server.ts'
import type { LogoutNotice } from '../../core/session/session-provider.ts'

const fixture = await startOidcFixture()
afterAll(() => fixture.server.close())

const logoutEvent = { 'http://schemas.openid.net/event/backchannel-logout': {} }

function claims(members: Record<string, unknown>): Record<string, unknown> {
  const now = fixture.runtime.now()
  return {
    iss: fixture.server.issuer,
    aud: oidcClient.id,
    iat: now,
    exp: now + 120,
    jti: 'notice-1',
    events: logoutEvent,
    sub: 'user-1',
    sid: 'session-1',
    ...members,
  }
}

const sign = (members: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<string> =>
  fixture.server.sign(claims(members), { typ: 'logout+jwt', ...header })

const read = async (token: Promise<string> | string): Promise<LogoutNotice | undefined> =>
  fixture.provider.readLogout?.(await token)

describe('OpenID Connect Back-Channel Logout 2.6: a logout token', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, Partial<LogoutNotice>]>([
    ['of a person and a sign-in', {}, {}, { id: 'notice-1', sub: 'user-1', sid: 'session-1' }],
    ['of a person alone', { sid: undefined }, {}, { sub: 'user-1', sid: undefined }],
    ['of a sign-in alone', { sub: undefined }, {}, { sub: undefined, sid: 'session-1' }],
    ['for several audiences', { aud: ['other', oidcClient.id] }, {}, { sub: 'user-1' }],
    ['without an end', { exp: undefined }, {}, { sub: 'user-1' }],
    ['without a type', {}, { typ: undefined }, { sub: 'user-1' }],
    ['with the type of every JWT', {}, { typ: 'JWT' }, { sub: 'user-1' }],
    ['with the long name of its type', {}, { typ: 'application/logout+jwt' }, { sub: 'user-1' }],
    ['with more in its event', { events: { ...logoutEvent, other: {} } }, {}, { sub: 'user-1' }],
  ])('a logout token %s is accepted', async (_what, members, header, notice) => {
    expect(await read(sign(members, header))).toMatchObject(notice)
  })

  const now = (): number => fixture.runtime.now()

  test.each<[string, () => Promise<string> | string]>([
    ['that is no JWT', () => 'logout'],
    ['without a signature', () => new UnsecuredJWT(claims({})).encode()],
    ['signed by somebody else', async () => signWith(await keySample('provider-1', 'RS256'), claims({}))],
    ['of another issuer', () => sign({ iss: 'https://evil.example' })],
    ['for another client', () => sign({ aud: 'other' })],
    ['without iat', () => sign({ iat: undefined })],
    ['of the future', () => sign({ iat: now() + 120 })],
    ['of two hours ago', () => sign({ iat: now() - 7200, exp: undefined })],
    ['that has expired', () => sign({ exp: now() - 120 })],
    ['without jti', () => sign({ jti: undefined })],
    ['with an empty jti', () => sign({ jti: '' })],
    ['without an event', () => sign({ events: undefined })],
    ['of another event', () => sign({ events: { 'http://example.com/event': {} } })],
    [
      'whose event is a text',
      () => sign({ events: { 'http://schemas.openid.net/event/backchannel-logout': 'x' } }),
    ],
    ['with a nonce', () => sign({ nonce: 'n' })],
    ['of nobody', () => sign({ sub: undefined, sid: undefined })],
    ['whose sid is a number', () => sign({ sid: 7 })],
    ['with another type', () => sign({}, { typ: 'at+jwt' })],
  ])('a logout token %s is refused', async (_what, token) => {
    await expect(read(token())).rejects.toMatchObject({ failure: 'invalid_token' })
  })

  test('a logout token that is an ID token is refused', async () => {
    const { session } = await fixture.signIn()
    await expect(read(session.idToken ?? '')).rejects.toMatchObject({ failure: 'invalid_token' })
  })
})
