import { afterEach, describe, expect, it } from 'vitest'
import {
  account,
  appUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../tests/support/server/drawbridge-fixture.ts'
import type { Settings } from '../config/setting-table.ts'

let drawbridge: DrawbridgeFixture
afterEach(() => drawbridge.close())

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

async function expiresAfterSignIn(): Promise<number> {
  const before = drawbridge.runtime.now()
  await drawbridge.connect()
  const [record] = await drawbridge.app.store.listGrants(undefined, { after: '', limit: 1 })
  return (record?.grant.expiresAt ?? 0) - before
}

async function statusesOfPings(count: number): Promise<number[]> {
  const { tokens } = await drawbridge.connect()
  const headers = { authorization: `Bearer ${tokens.access_token}` }
  const statuses: number[] = []
  for (let sent = 0; sent < count; sent += 1) statuses.push((await drawbridge.mcp(ping, headers)).status)
  return statuses
}

async function signInsUntilRefused(): Promise<number> {
  const { client_id: clientId } = await drawbridge.register()
  for (let tries = 0; tries < 30; tries += 1) {
    const browser = drawbridge.browser()
    const login = await browser.visit(drawbridge.authorizeUrl(clientId))
    const { status } = await browser.submit(login, 'password', { ...account, password: `wrong ${tries}` })
    if (status === 429) return tries
  }
  return Infinity
}

async function refreshesUntilRefused(): Promise<number> {
  const { clientId, tokens } = await drawbridge.connect()
  let token = tokens.refresh_token
  for (let tries = 0; tries < 100; tries += 1) {
    const answer = await drawbridge.refresh(clientId, token)
    if (answer.status === 429) return tries
    token = ((await answer.json()) as { refresh_token: string }).refresh_token
    drawbridge.runtime.advance(2)
  }
  return Infinity
}

/** Calls with a provider token before and two minutes after its session ended at the provider. */
async function statusesAfterSignOut(): Promise<number[]> {
  const { admin, app, runtime } = drawbridge
  const body = JSON.stringify(account)
  const headers = { 'content-type': 'application/json' }
  const url = `${appUrl}/auth/v1/token?grant_type=password`
  const answer = await app.sandbox?.fetch(new Request(url, { method: 'POST', headers, body }))
  if (!answer) throw new Error('The embedded provider is not there.')
  const { access_token: token } = (await answer.json()) as { access_token: string }
  const call = async (): Promise<number> =>
    (await drawbridge.mcp(ping, { authorization: `Bearer ${token}` })).status
  const before = await call()
  const { id = '' } = admin.findUser(account.email) ?? {}
  for (const session of admin.listSessions(id)) admin.endSession(session.id)
  runtime.advance(120)
  return [before, await call()]
}

async function keySetUrl(): Promise<unknown> {
  const metadata = await drawbridge.fetch('/.well-known/oauth-authorization-server')
  return ((await metadata.json()) as { jwks_uri?: string }).jwks_uri
}

describe('the endpoints', () => {
  it.each<[settings: Settings, effect: () => Promise<unknown>, value: unknown]>([
    [{ sessionTtl: '2d' }, expiresAfterSignIn, 2 * 86_400],
    [{ accessTokenTtl: '10m' }, async () => (await drawbridge.connect()).tokens.expires_in <= 600, true],
    [{ accessTokenTtl: '10m' }, refreshesUntilRefused, 24],
    [{ accessTokenTtl: '1m' }, refreshesUntilRefused, Infinity],
    [{ signInLimit: '3' }, signInsUntilRefused, 2],
    [{ signInLimit: '9' }, signInsUntilRefused, 6],
    [{ sessionCheck: '1m' }, statusesAfterSignOut, [200, 401]],
    [{ sessionCheck: 'off' }, statusesAfterSignOut, [200, 200]],
    [{}, keySetUrl, 'http://localhost:8787/oauth/jwks'],
    [{ callLimit: '2/m' }, () => statusesOfPings(3), [200, 200, 429]],
    [{ callLimit: 'off' }, () => statusesOfPings(3), [200, 200, 200]],
  ])('the endpoints follow the settings %j', async (settings, effect, value) => {
    drawbridge = await startDrawbridge(settings)
    expect(await effect()).toEqual(value)
  })
})

it('session cookies are ignored if the tokens of the provider cannot be verified', async () => {
  drawbridge = await startDrawbridge({
    provider: 'oidc',
    providerUrl: 'https://id.example.com',
    providerClientId: 'drawbridge',
    secretKeys: `a:${Buffer.alloc(32, 1).toString('base64')}`,
  })
  const answer = await drawbridge.mcp(ping, { cookie: 'sb-id-auth-token=x', 'sec-fetch-site': 'cross-site' })
  expect(answer.status).toBe(401)
})
