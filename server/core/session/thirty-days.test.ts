import { afterEach, expect, it } from 'vitest'
import {
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'

const minute = 60
const day = 86_400
const life = 30 * day

let drawbridge: DrawbridgeFixture
afterEach(() => drawbridge.close())

it('Spec 8: thirty days on one sign-in: a call at least every forty minutes, the last second included', async () => {
  drawbridge = await startDrawbridge()
  const { app, runtime } = drawbridge
  const start = runtime.now()
  const { clientId, tokens: first } = await drawbridge.connect()
  const counters = drawbridge.admin.counters
  let tokens: Tokens = first
  let calls = 0

  /** The tool calls the web app as the user, with the provider's current token. */
  async function call(): Promise<void> {
    const answer = await drawbridge.callTool(tokens.access_token, 'list_notes')
    expect(answer).toEqual({ text: 'There are no notes yet.', isError: false })
    calls += 1
  }

  async function refresh(): Promise<Tokens> {
    const response = await drawbridge.refresh(clientId, tokens.refresh_token)
    expect(response.status).toBe(200)
    return (await response.json()) as Tokens
  }

  await call()
  while (runtime.now() + 59 * minute < start + life) {
    runtime.advance(39 * minute)
    await call()
    // One minute before both tokens end, the client's and the provider's.
    runtime.advance(20 * minute)
    await call()
    tokens = await refresh()
    await app.store.collectExpired(runtime.now(), 500)
  }

  runtime.advance(start + life - 1 - runtime.now())
  await call()
  tokens = await refresh()
  expect(tokens.expires_in).toBe(1)
  await call()
  expect(calls).toBeGreaterThan(1400)

  runtime.advance(1)
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const refused = await drawbridge.mcp(message, { authorization: `Bearer ${tokens.access_token}` })
  expect(refused.status).toBe(401)
  expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"')
  const ended = await drawbridge.refresh(clientId, tokens.refresh_token)
  expect(ended.status).toBe(400)
  expect(await ended.json()).toMatchObject({ error: 'invalid_grant' })

  expect(counters.rotations).toBeGreaterThanOrEqual(700)
  expect(counters.token.refresh_token).toBe(counters.rotations)
  expect(counters.token.password).toBe(1)
  expect(counters.token.pkce).toBe(0)
  expect(counters.reuseRevocations).toBe(0)
}, 60_000)
