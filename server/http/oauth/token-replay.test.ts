import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  account,
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'

const owner = '192.0.2.1'
const thief = '198.51.100.7'

let drawbridge: DrawbridgeFixture
beforeEach(async () => {
  drawbridge = await startDrawbridge()
})
afterEach(() => drawbridge.close())

/** Presents a refresh token from an address. */
function refreshFrom(address: string, clientId: string, refreshToken: string): Promise<Response> {
  const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }
  const body = new URLSearchParams(fields)
  const request = new Request('http://localhost:8787/oauth/token', { method: 'POST', body })
  return drawbridge.app.fetch(request, { address })
}

async function tokensOf(response: Response): Promise<Tokens> {
  expect(response.status).toBe(200)
  return (await response.json()) as Tokens
}

/** Calls `/mcp` once. */
const use = async (accessToken: string): Promise<number> => {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  return (await drawbridge.mcp(message, { authorization: `Bearer ${accessToken}` })).status
}

const events = (name: string): Record<string, unknown>[] => drawbridge.events(name)

describe('a used refresh token', () => {
  it('RFC 9700 4.14.2: a used refresh token works for ten seconds more once its successor is in use at /mcp', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    const next = await tokensOf(await refreshFrom(owner, clientId, tokens.refresh_token))
    expect(await use(next.access_token)).toBe(200)
    drawbridge.runtime.advance(10)
    expect(await tokensOf(await refreshFrom(owner, clientId, tokens.refresh_token))).toMatchObject({
      refresh_token: next.refresh_token,
    })
    drawbridge.runtime.advance(1)
    expect((await refreshFrom(thief, clientId, tokens.refresh_token)).status).toBe(400)
    expect(await use(next.access_token)).toBe(401)
    expect(events('grant_ended')).toMatchObject([{ reason: 'refresh_token_reuse' }])
  })

  it('the first use of an access token is written once, and never of one that no refresh brought', async () => {
    const written: string[] = []
    const { store } = drawbridge.app
    const recordFirstUse = store.recordFirstUse.bind(store)
    store.recordFirstUse = (hash, now) => {
      written.push(hash)
      return recordFirstUse(hash, now)
    }
    const { clientId, tokens } = await drawbridge.connect()
    await use(tokens.access_token)
    expect(written).toEqual([])
    const next = await tokensOf(await refreshFrom(owner, clientId, tokens.refresh_token))
    for (let call = 0; call < 3; call += 1) await use(next.access_token)
    expect(written).toHaveLength(1)
    const late = await tokensOf(await refreshFrom(owner, clientId, next.refresh_token))
    drawbridge.runtime.advance(121)
    expect(await use(late.access_token)).toBe(200)
    expect(written).toHaveLength(1)
  })

  it('every replay is logged with both addresses, without a token', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    await refreshFrom(owner, clientId, tokens.refresh_token)
    expect(events('refresh_token_replayed')).toEqual([])
    await refreshFrom(owner, clientId, tokens.refresh_token)
    await refreshFrom(thief, clientId, tokens.refresh_token)
    const replay = { audit: true, client_id: clientId, first_address: owner }
    expect(events('refresh_token_replayed')).toMatchObject([
      { ...replay, address: owner, source: 'same_address' },
      { ...replay, address: thief, source: 'other_address' },
    ])
    expect(JSON.stringify(events('refresh_token_replayed'))).not.toMatch(/mcp[ar]_/)
  })

  it('a replay is shown to its owner, with a warning when it came from two addresses', async () => {
    const { clientId, tokens } = await drawbridge.connect()
    await refreshFrom(owner, clientId, tokens.refresh_token)
    await refreshFrom(owner, clientId, tokens.refresh_token)
    const browser = drawbridge.browser()
    const page = await browser.visit('http://localhost:8787/account/connections')
    const list = await browser.submit(page, 'password', account)
    expect(list.html).toContain('Same key sent again')
    expect(list.html).not.toContain('Used from two addresses')
    await refreshFrom(thief, clientId, tokens.refresh_token)
    const warned = await browser.visit('http://localhost:8787/account/connections')
    for (const text of ['Used from two addresses', owner, thief, '2 times']) {
      expect(warned.html).toContain(text)
    }
  })
})

it('refreshing in a loop is answered 429 with Retry-After beyond 20 at once; the tokens stay good', async () => {
  const { clientId, tokens } = await drawbridge.connect()
  let last = tokens
  for (let count = 0; count < 20; count += 1) {
    last = await tokensOf(await drawbridge.refresh(clientId, last.refresh_token))
  }
  const refused = await drawbridge.refresh(clientId, last.refresh_token)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe('10')
  expect(refused.headers.get('access-control-allow-origin')).toBe('*')
  expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' })
  expect(await use(last.access_token)).toBe(200)
  const refusal = { code: 'temporarily_unavailable', client_id: clientId, grant_id: expect.any(String) }
  expect(events('token_refused')[0]).toMatchObject(refusal)
  drawbridge.runtime.advance(10)
  expect((await drawbridge.refresh(clientId, last.refresh_token)).status).toBe(200)
})
