import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createPlainClient } from '../tests/e2e/plain-client.ts'
import { SoakClient } from './client.ts'
import { systemAddress } from './http.ts'
import { createRandom, type Random } from './random.ts'
import { createTally, type Tally } from './tally.ts'

/** The system's next answers by path; `drop` breaks the connection. The last one repeats. */
type Script = ('ok' | 'drop' | { status: number; retryAfter?: string; body?: string })[]

let server: Server
let tally: Tally
let slept: number
/** Seconds since the epoch. */
let clock: number
/** Refresh tokens in the order in which they were presented. */
let presented: string[]
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

async function startClient(
  scripts: { token?: Script; mcp?: Script },
  random: Random = createRandom(1),
): Promise<SoakClient> {
  tally = createTally()
  slept = 0
  clock = 1e9
  presented = []
  let issued = 0
  server = createServer((incoming, outgoing) => {
    let body = ''
    incoming.on('data', (chunk) => (body += String(chunk)))
    incoming.on('end', () => {
      const refresh = incoming.url === '/oauth/token'
      const script = (refresh ? scripts.token : scripts.mcp) ?? ['ok']
      const step = script.length > 1 ? script.shift() : script[0]
      if (refresh) presented.push(new URLSearchParams(body).get('refresh_token') ?? '')
      if (step === 'drop') {
        incoming.socket.destroy()
        return
      }
      if (typeof step === 'object') {
        outgoing.writeHead(
          step.status,
          step.retryAfter === undefined ? {} : { 'retry-after': step.retryAfter },
        )
        outgoing.end(step.body ?? '{}')
        return
      }
      if (refresh) issued += 1
      outgoing.end(
        refresh
          ? JSON.stringify({ access_token: `a${issued}`, refresh_token: `r${issued}`, expires_in: 60 })
          : '{"result":{"content":[{"type":"text","text":"You are ada@example.com."}]}}',
      )
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const address = systemAddress(`http://127.0.0.1:${port}`, 'http://127.0.0.1:1')
  const client = new SoakClient({
    account: { email: 'ada@example.com', password: '' },
    address,
    plain: await createPlainClient(address, { id: 'client' }),
    random,
    tally,
    sleep: async (ms) => void (slept += ms),
    now: () => clock,
  })
  client.hold({ access_token: 'a0', refresh_token: 'r0', expires_in: 60, scope: 'mcp' }, Date.now())
  return client
}

const busy = { status: 503, retryAfter: '1' }

it('a client of the soak accuses nothing when a refresh and a call succeed', async () => {
  const client = await startClient({})
  expect(await client.verify()).toBeUndefined()
  expect(tally.accusations()).toEqual([])
})

it('a client of the soak presents the same refresh token again after 503 and after a lost connection', async () => {
  const client = await startClient({ token: [busy, 'drop', busy, 'ok'] })
  expect(await client.verify()).toBeUndefined()
  expect(presented).toEqual(['r0', 'r0', 'r0', 'r0'])
  expect(tally.get('refresh 503')).toBe(2)
  expect(tally.get('refresh connection')).toBe(1)
  expect(slept).toBeGreaterThan(0)
  expect(tally.accusations()).toEqual([])
})

it('a client of the soak calls again after 503 and after a lost connection', async () => {
  const client = await startClient({ mcp: ['drop', busy, 'ok'] })
  expect(await client.verify()).toBeUndefined()
  expect(tally.accusations()).toEqual([])
})

it.each<[name: string, scripts: { token?: Script; mcp?: Script }, accused: string]>([
  ['a refused refresh', { token: [{ status: 400, body: '{"error":"invalid_grant"}' }] }, 'grants lost'],
  ['calls that are always refused', { mcp: [{ status: 401 }] }, 'grants lost'],
  ['a server that fails', { mcp: [{ status: 500 }, 'ok'] }, 'wrong answers'],
  ['503 without Retry-After', { mcp: [{ status: 503 }, 'ok'] }, 'wrong answers'],
  [
    'the answer of another user',
    { mcp: [{ status: 200, body: '"You are eve@example.com."' }] },
    'wrong answers',
  ],
])('a client of the soak accuses %s', async (_name, scripts, accused) => {
  const client = await startClient(scripts)
  await client.verify()
  expect(tally.get(accused)).toBeGreaterThan(0)
})

it('a client of the soak keeps a connection lost once it is lost', async () => {
  const client = await startClient({ token: [{ status: 400 }] })
  expect(await client.verify()).toContain('400')
  expect(client.lost).toContain('400')
  expect(await client.verify()).toContain('400')
  expect(tally.get('grants lost')).toBe(1)
})

it('a client of the soak sends twenty refreshes at once now and then, and accuses different answers to them', async () => {
  const client = await startClient({}, { ...createRandom(1), next: () => 0 })
  await client.run(Date.now() + 100)
  expect(presented.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 'r0'))
  expect(tally.get('races')).toBeGreaterThan(0)
  expect(tally.get('races with several answers')).toBe(tally.get('races'))
})

it('a client of the soak accuses a refused token that has not expired', async () => {
  const client = await startClient({ mcp: [{ status: 401 }, 'ok'] })
  await client.verify()
  expect(tally.accusations().join()).toContain('a live token was refused')
})

it('a client of the soak accuses nothing when tokens expire before an instance answers, again and again', async () => {
  const tokens = { access_token: 'a', refresh_token: 'r', expires_in: 1 }
  const short = { status: 200, body: JSON.stringify(tokens) }
  const client = await startClient({ token: [short], mcp: [{ status: 401 }, { status: 401 }, 'ok'] })
  expect(await client.verify()).toBeUndefined()
  expect(tally.accusations()).toEqual([])
})
