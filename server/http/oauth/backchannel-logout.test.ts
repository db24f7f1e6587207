import { afterEach, expect, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { keySample, signWith } from '../../../tests/support/server/key-sample.ts'

const issuer = 'https://id.example.com'
let drawbridge: DrawbridgeFixture | undefined
afterEach(() => drawbridge?.close())

it('a logout notice is requested again while the provider is down, which is checked once for many notices', async () => {
  let asked = 0
  const runtime = {
    ...createFakeRuntime(),
    fetch() {
      asked += 1
      return Promise.reject(new TypeError('fetch failed'))
    },
  }
  drawbridge = await startDrawbridge(
    {
      provider: 'oidc',
      providerUrl: issuer,
      providerClientId: 'drawbridge',
      secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    },
    runtime,
  )
  const now = runtime.now()
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const claims = { iss: issuer, aud: 'drawbridge', iat: now, exp: now + 60, jti: '1', sub: 'ada', events }
  const token = await signWith(await keySample('any'), claims, { typ: 'logout+jwt' })
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
