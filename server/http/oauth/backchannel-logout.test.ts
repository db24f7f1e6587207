import { afterEach, expect, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { addGrant, grantSample } from '../../../tests/support/server/core/grant-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { type KeySample, keySample, signWith } from '../../../tests/support/server/key-sample.ts'

const issuer = 'https://id.example.com'
let drawbridge: DrawbridgeFixture | undefined
afterEach(() => drawbridge?.close())

const settings = {
  provider: 'oidc',
  providerUrl: issuer,
  providerClientId: 'drawbridge',
  secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
} as const

/** Signs a notice that Ada has signed out. */
function logoutToken(key: KeySample, now: number): Promise<string> {
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const claims = { iss: issuer, aud: 'drawbridge', iat: now, exp: now + 60, jti: '1', sub: 'ada', events }
  return signWith(key, claims, { typ: 'logout+jwt' })
}

it('a logout notice is requested again while the provider is down, which is checked once for many notices', async () => {
  let asked = 0
  const runtime = {
    ...createFakeRuntime(),
    fetch() {
      asked += 1
      return Promise.reject(new TypeError('fetch failed'))
    },
  }
  drawbridge = await startDrawbridge(settings, runtime)
  const token = await logoutToken(await keySample('any'), runtime.now())
  const before = asked
  const send = (): Promise<Response> =>
    drawbridge!.postForm('/oauth/backchannel_logout', { logout_token: token })
  for (let index = 0; index < 20; index += 1) {
    const answer = await send()
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
  }
  const cost = asked - before
  expect(cost).toBeLessThanOrEqual(1)
  runtime.advance(2)
  await send()
  expect(asked - before).toBe(cost + 1)
})

it('each connection that a logout notice ends is an audit event with its client and reason', async () => {
  const key = await keySample('provider-1')
  const documents: Record<string, object> = {
    '/.well-known/openid-configuration': {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
    },
    '/jwks': { keys: [key.published] },
  }
  const runtime = {
    ...createFakeRuntime(),
    fetch: async ({ url }: Request) => Response.json(documents[new URL(url).pathname]),
  }
  drawbridge = await startDrawbridge(settings, runtime)
  const user = { id: `${issuer}#ada`, sub: 'ada', email: undefined, name: undefined }
  const expiresAt = runtime.now() + 3600
  await addGrant(drawbridge.app.store, grantSample('one', { user, clientId: 'mcpc_one', expiresAt }))
  const token = await logoutToken(key, runtime.now())
  const answer = await drawbridge.postForm('/oauth/backchannel_logout', { logout_token: token })
  expect(answer.status).toBe(200)
  expect(drawbridge.events('grant_ended')).toMatchObject([
    { grant_id: 'grant one', client_id: 'mcpc_one', sub: 'ada', reason: 'provider_session_ended' },
  ])
})
