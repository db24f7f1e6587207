import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRandom, type Random } from '../../soak/random.ts'
import { freePort } from '../support/server/free-port.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { startReverseProxy } from '../support/server/reverse-proxy.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type AuthServer, startAuthServer } from './auth-server.ts'
import { type ChoosingPerson, createChoiceWorld, createChoosingPerson, placeIn } from './choice.ts'
import { type PlainClient, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

/** Calls of the whole test. A long run by hand: MIXED_CALLS=100000. */
const calls = Number(process.env['MIXED_CALLS'] ?? 1200)
const workers = 4
const changeEvery = 25
const scopes = ['mcp notes:read notes:write', 'mcp notes:read', 'mcp']
const workspaces = ['sales', 'legal'] as const

let postgres: PostgresServer
let auth: AuthServer
let balancer: Awaited<ReturnType<typeof startReverseProxy>>
let instances: ServerProcess[]
let system: ServerProcess
let person: ChoosingPerson
const agent = new Agent({ keepAlive: true })
const folder = temporaryFolder(afterAll)

beforeAll(async () => {
  postgres = await startPostgres()
  // Sessions are refreshed, and memberships read again, many times in between.
  auth = await startAuthServer({ tokenTtlSeconds: 6 })
  const port = await freePort()
  let turn = 0
  balancer = await startReverseProxy(port, () => ({ origin: instances[turn++ % 3]?.origin ?? '' }))
  const world = createChoiceWorld(folder)
  const STORE = await postgres.createDatabase()
  const given = { ...auth.settings, ...world.settings, STORE, BASE_URL: `http://localhost:${port}` }
  const settings = { ...given, SESSION_CHECK: '2s', TRUSTED_PROXIES: '127.0.0.1' }
  const { environment } = world
  instances = await Promise.all(Array.from({ length: 3 }, () => startServer(settings, { environment })))
  system = instances[0] as ServerProcess
  person = await createChoosingPerson(system, world, workspaces)
})
afterAll(async () => {
  agent.destroy()
  await Promise.all((instances ?? []).map((instance) => instance.close()))
  await balancer?.close()
  await auth?.close()
  await postgres?.close()
})

/** What a connection may do; undefined: it is over. */
type State = { scope: string; workspace: string } | undefined

/** A connection, and what a call of it may see. */
interface Connected {
  id: string
  tokens: Tokens
  state: State
  /** Groups of states, in the order in which they became possible. */
  timeline: State[][]
  /** The group of the last change that was acknowledged: calls that begin from now on see it or a later one. */
  floor: number
}

/** Counts what was done, and keeps what no call may see. */
const seen = { calls: 0, refused: 0, changes: 0, refreshes: 0, signIns: 0, crossings: [] as string[] }

/** The last sign-in: the person does one after the other. */
let signingIn: Promise<unknown> = Promise.resolve()

function connect(client: PlainClient, random: Random): Promise<Connected> {
  const connecting = signingIn.then(() => signIn(client, random))
  signingIn = connecting
  return connecting
}

async function signIn(client: PlainClient, random: Random): Promise<Connected> {
  const before = new Set((await person.connections()).map(({ id }) => id))
  person.workspace = random.pick(workspaces)
  const tokens = await client.connect(person)
  seen.signIns += 1
  const made = (await person.connections()).find((one) => one.client.id === client.id && !before.has(one.id))
  if (!made) throw new Error('The new connection is not listed.')
  const state = { scope: made.scope, workspace: made.workspace?.id ?? '' }
  expect(state).toEqual({ scope: scopes[0], workspace: person.workspace })
  return { id: made.id, tokens, state, timeline: [[state]], floor: 0 }
}

/** Calls a tool of one instance. Returns what the call was for, or the status of its refusal. */
async function callAt(instance: ServerProcess, token: string, tool: string): Promise<object | number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } })
  const sent = request(`${instance.origin}/mcp`, {
    method: 'POST',
    agent,
    headers: {
      host: new URL(system.baseUrl).host,
      authorization: `Bearer ${token}`,
      // One address would be limited for its many refusals.
      'x-forwarded-for': `192.0.2.${seen.calls % 250}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
  })
  const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject)
    })
  })
  sent.end(body)
  const answer = await answered
  if (answer.status !== 200) return answer.status
  const { result } = JSON.parse(answer.body) as { result: { content: { text: string }[] } }
  return placeIn(result.content[0]?.text ?? '')
}

/** What a call by `client` returns in a state. */
function expectedOf(state: State, client: PlainClient, tool: string): object | number {
  if (!state) return 401
  if (tool === 'write' && !state.scope.includes('notes:write')) return 403
  return { email: person.email, clientId: client.id, ...state }
}

async function call(
  client: PlainClient,
  { timeline, floor, tokens }: Connected,
  instance: ServerProcess,
  tool: string,
): Promise<void> {
  const outcome = await callAt(instance, tokens.access_token, tool)
  seen.calls += 1
  if (typeof outcome === 'number') seen.refused += 1
  const possible = timeline.slice(floor).flat()
  const texts = possible.map((state) => JSON.stringify(expectedOf(state, client, tool)))
  if (!texts.includes(JSON.stringify(outcome)))
    seen.crossings.push(`${tool}: ${JSON.stringify(outcome)}, possible were ${texts.join(' or ')}`)
}

/** Narrows, moves or ends a connection, at any instance, and calls every instance once that is acknowledged. */
async function change(client: PlainClient, connected: Connected, random: Random): Promise<void> {
  const { state, id, timeline } = connected
  if (!state) return
  const narrower = scopes[scopes.indexOf(state.scope) + 1]
  const narrows = narrower !== undefined && random.chance(0.3)
  const ends = narrower === undefined && random.chance(0.2)
  const to = { scope: narrows ? narrower : state.scope, workspace: random.pick(workspaces) }
  // Two requests at once, at two instances: neither may undo the other.
  const apart = narrows && random.chance(0.5)
  connected.state = ends ? undefined : to
  const between = apart
    ? [
        { ...state, scope: to.scope },
        { ...state, workspace: to.workspace },
      ]
    : []
  timeline.push([...between, connected.state])
  const requests: [method: 'PATCH' | 'DELETE', body?: object][] = ends
    ? [['DELETE']]
    : apart
      ? [
          ['PATCH', { scope: to.scope }],
          ['PATCH', { workspace: to.workspace }],
        ]
      : [['PATCH', to]]
  const answers = await Promise.all(requests.map(([method, body]) => person.manage(method, id, body)))
  expect(answers.map(({ status }) => status)).toEqual(requests.map(() => (ends ? 204 : 200)))
  timeline.push([connected.state])
  connected.floor = timeline.length - 1
  seen.changes += 1
  const tool = random.pick(['where', 'write'])
  await Promise.all(instances.map((instance) => call(client, connected, instance, tool)))
}

/** The client refreshes: the response says a scope that was possible meanwhile. */
async function refresh(client: PlainClient, connected: Connected): Promise<void> {
  const { floor, timeline } = connected
  const answer = await client.refresh(connected.tokens.refresh_token)
  const possible = timeline.slice(floor).flat()
  seen.refreshes += 1
  if (answer.status === 200) {
    connected.tokens = (await answer.json()) as Tokens
    const { scope } = connected.tokens
    if (!possible.some((state) => state?.scope === scope)) seen.crossings.push(`refresh: ${scope}`)
  } else if (!possible.includes(undefined)) seen.crossings.push(`refresh: ${answer.status}`)
}

async function work(client: PlainClient, random: Random): Promise<void> {
  client.authorizationUrl.searchParams.set('scope', scopes[0] ?? '')
  let connected = await connect(client, random)
  while (seen.calls < calls && seen.crossings.length === 0) {
    const round = Array.from({ length: workers }, async (_, index) => {
      const own = random.fork(`${seen.calls} ${index}`)
      for (let turn = 0; turn < changeEvery / workers; turn += 1) {
        const tool = own.pick(['where', 'where', 'write'])
        await call(client, connected, own.pick(instances as [ServerProcess]), tool)
      }
    })
    const refreshing = random.chance(0.1) ? [refresh(client, connected)] : []
    await Promise.all([...round, ...refreshing, change(client, connected, random)])
    if (!connected.state) connected = await connect(client, random)
  }
}

it(
  'two clients of one person in two workspaces never see a scope, workspace or client but their own, on three instances',
  async () => {
    const random = createRandom(Number(process.env['MIXED_SEED'] ?? 7))
    const began = performance.now()
    const clients = await Promise.all(['One', 'Two'].map((name) => registerPlainClient(system, name)))
    await Promise.all(clients.map((client, index) => work(client, random.fork(`client ${index}`))))
    if (process.env['MIXED_CALLS'] !== undefined)
      process.stderr.write(`${JSON.stringify({ ...seen, seconds: (performance.now() - began) / 1000 })}\n`)
    expect(seen.crossings).toEqual([])
    expect(seen.calls).toBeGreaterThanOrEqual(calls)
    expect(Math.min(seen.refused, seen.changes, seen.refreshes, seen.signIns - 2)).toBeGreaterThan(0)
  },
  calls * 60 + 30_000,
)
