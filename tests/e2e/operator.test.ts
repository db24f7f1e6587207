import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { until } from '../support/until.ts'
import { runCommand } from './command-process.ts'
import { createPerson } from './person.ts'
import { callTool, type PlainClient, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, type ServerSettings, startServer } from './server-process.ts'

let server: ServerProcess
let metricsUrl: string
let email: string
let client: PlainClient
let tokens: Tokens

beforeAll(async () => {
  const port = await freePort()
  metricsUrl = `http://127.0.0.1:${port}/metrics`
  // Metrics do not depend on the log level.
  server = await startServer({ METRICS_LISTEN: `127.0.0.1:${port}`, LOG: 'silent' })
  const person = await createPerson(server)
  email = person.email
  client = await registerPlainClient(server)
  tokens = await client.connect(person)
})
afterAll(() => server?.close())

const call = (message: { method: string; params?: unknown }): Promise<Response> =>
  postMcp(server, message, { authorization: `Bearer ${tokens.access_token}` })

/** Returns the value of the sample with exactly that name and those labels. */
async function sample(name: string): Promise<number | undefined> {
  const text = await (await fetch(metricsUrl)).text()
  const line = text.split('\n').find((line) => line.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length))
}

describe('a server with METRICS_LISTEN', () => {
  it('METRICS_LISTEN counts requests by event, endpoint and operation', async () => {
    await callTool(server, tokens.access_token, 'whoami')
    await server.fetch(`${server.baseUrl}/made-up/${'x'.repeat(50)}`)
    const requests = 'http_request_duration_seconds_count'
    for (const [name, value] of [
      ['events_total{event="signed_in",detail=""}', 1],
      ['events_total{event="token_issued",detail="authorization_code"}', 1],
      [`${requests}{endpoint="/mcp",status="2xx"}`, 1],
      [`${requests}{endpoint="other",status="4xx"}`, 1],
      ['http_requests_in_flight', 0],
      ['store_operation_duration_seconds_count{operation="findAccessToken",outcome="ok"}', 1],
      ['tool_calls_total{tool="whoami",outcome="ok"}', 1],
      ['tool_call_duration_seconds_count{tool="whoami"}', 1],
    ] as const) {
      expect([name, await sample(`drawbridge_${name}`)]).toEqual([name, value])
    }
    await call({ method: 'tools/call', params: { name: 'made-up', arguments: {} } })
    expect(await sample('drawbridge_tool_calls_total{tool="other",outcome="failed"}')).toBe(1)
    expect(await sample('process_resident_memory_bytes')).toBeGreaterThan(1_000_000)
  })

  it('METRICS_LISTEN serves metrics on that address only', async () => {
    expect((await server.fetch(`${server.baseUrl}/metrics`)).status).toBe(404)
  })

  it('METRICS_LISTEN shows no person, client or token', async () => {
    const text = await (await fetch(metricsUrl)).text()
    expect(server.secrets.findIn(text)).toEqual([])
    expect(text).not.toMatch(/mcpc_|@|made-up/)
  })
})

interface Facts {
  ok: boolean
  checks: { name: string; state: string; message: string }[]
}

async function doctor(
  settings: ServerSettings = {},
): Promise<Facts & { code: number | null; state: (name: string) => string | undefined }> {
  const { code, stdout } = await runCommand(server, ['doctor', '--json'], { settings })
  const facts = JSON.parse(stdout) as Facts
  return { ...facts, code, state: (name) => facts.checks.find((check) => check.name === name)?.state }
}

it('doctor beside a running server finds everything in order', async () => {
  const { code, ok, checks, state } = await doctor()
  expect(checks.filter((check) => check.state !== 'ok').map(({ name }) => name)).toEqual([])
  expect([code, ok, state('base-url'), state('provider')]).toEqual([0, true, 'ok', 'ok'])
  expect(checks.find(({ name }) => name === 'store')?.message).toContain('a server is running')
})

describe('grants, beside a running server', () => {
  it('the command grants beside a running server lists grants, and the next request of a revoked one is refused', async () => {
    // From now on the server has cached all it can about the token.
    for (let n = 0; n < 3; n += 1) await callTool(server, tokens.access_token, 'whoami')
    const { code, stdout } = await runCommand(server, ['grants', 'list', '--json'])
    expect(code).toBe(0)
    const { grants } = JSON.parse(stdout) as { grants: Record<string, unknown>[] }
    expect(grants).toMatchObject([
      { email, client_id: client.id, client_name: 'Plain client', state: 'live' },
    ])

    const id = String(grants[0]?.['id'])
    const revoked = await runCommand(server, ['grants', 'revoke', id])
    expect([revoked.code, revoked.stdout]).toEqual([0, `Ended grant ${id}.\n`])
    expect((await call({ method: 'tools/list' })).status).toBe(401)
    expect((await client.refresh(tokens.refresh_token)).status).toBe(400)
    const signedOut = 'drawbridge_events_total{event="provider_signed_out",detail=""}'
    await until(async () => (await sample(signedOut)) === 1, 'the sign-out at the provider')
  })
})
