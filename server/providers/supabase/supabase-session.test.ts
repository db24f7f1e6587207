import { describe, expect, it } from 'vitest'
import type { SessionLife } from '../../core/session/session-provider.ts'
import { readLife, readSession } from './supabase-session.ts'

const now = 1_800_000_000
const session = { access_token: 'a', refresh_token: 'r', expires_in: 3600, expires_at: 1 }

describe('the session in an answer', () => {
  it.each([
    ['an hour', 3600, 3600],
    ['half a second more', 3600.5, 3600],
    ['one second', 1, 1],
  ])(
    "the expiry of a session, %s, is counted from our clock, not from the provider's",
    (_what, expires_in, seconds) => {
      expect(readSession({ ...session, expires_in }, now)).toEqual({
        accessToken: 'a',
        refreshToken: 'r',
        expiresAt: now + seconds,
      })
    },
  )

  it.each<[what: string, body: unknown]>([
    ['no access token', { ...session, access_token: undefined }],
    ['an access token that is no text', { ...session, access_token: 1 }],
    ['an empty access token', { ...session, access_token: '' }],
    ['no refresh token', { ...session, refresh_token: undefined }],
    ['no expires_in', { ...session, expires_in: undefined }],
    ['expires_in as text', { ...session, expires_in: '3600' }],
    ['expires_in 0', { ...session, expires_in: 0 }],
    ['expires_in below a second', { ...session, expires_in: 0.9 }],
    ['null', null],
    ['nothing that can be read', undefined],
  ])('a session is refused as a protocol failure with an unknown outcome for %s', (_what, body) => {
    expect(() => readSession(body, now)).toThrow(
      expect.objectContaining({ name: 'ProviderError', failure: 'protocol', outcomeKnown: false }),
    )
  })
})

const newYear = Date.parse('2027-01-01T00:00:00Z') / 1000

const refused = (status: number, code: string | undefined) => ({
  kind: 'refusal' as const,
  call: 'GET /user',
  status,
  code,
  retryAfterSeconds: undefined,
})

it.each<[what: string, body: unknown, life: SessionLife | undefined]>([
  ['a user', { id: 'u' }, 'live'],
  ['a ban until later', { id: 'u', banned_until: '2027-01-01T00:00:01Z' }, 'ended'],
  ['a ban until now', { id: 'u', banned_until: '2027-01-01T00:00:00Z' }, 'live'],
  [
    'a ban with a fraction and an offset',
    { id: 'u', banned_until: '2126-12-08T11:43:36.123456+00:00' },
    'ended',
  ],
  ['a ban that is no time', { id: 'u', banned_until: 'soon' }, 'live'],
  ['no ban', { id: 'u', banned_until: null }, 'live'],
  ['the JSON of somebody else', {}, undefined],
  ['an id that is no text', { id: 1 }, undefined],
  ['null', null, undefined],
  ['a list', [{ id: 'u' }], undefined],
  ['a page', undefined, undefined],
])('a user in the answer: %s', (_what, body, life) => {
  expect(readLife({ kind: 'success', body }, newYear)).toBe(life)
})

describe('a refusal', () => {
  it.each(
    ['session_not_found', 'session_expired', 'user_not_found', 'user_banned'].flatMap((code) =>
      [401, 403, 404].map((status) => [status, code] as const),
    ),
  )('a refusal of %i %s ends the session', (status, code) => {
    expect(readLife(refused(status, code), newYear)).toBe('ended')
  })

  it.each([
    [401, 'bad_jwt'],
    [403, 'bad_jwt'],
    [401, 'no_authorization'],
    [403, 'no_authorization'],
  ])('a refusal of %i %s means that the token is refused', (status, code) => {
    expect(readLife(refused(status, code), newYear)).toBe('token_refused')
  })

  it.each<[status: number, code: string | undefined]>([
    // A gateway that does not know the API key, or the path.
    [401, undefined],
    [403, undefined],
    [404, undefined],
    [404, 'not_found'],
    [401, 'invalid_api_key'],
    [403, 'insufficient_aal'],
    [403, 'not_admin'],
    [404, 'bad_jwt'],
    [400, 'session_not_found'],
    [409, 'conflict'],
    [429, 'over_request_rate_limit'],
    [500, 'session_not_found'],
    [502, undefined],
    [403, 'SESSION_NOT_FOUND'],
  ])('a refusal of %i %s says nothing clear', (status, code) => {
    expect(readLife(refused(status, code), newYear)).toBeUndefined()
  })
})
