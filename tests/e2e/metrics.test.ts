import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { createPerson } from './person.ts'
import { callTool, postMcp, registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

let server: ServerProcess
let metricsUrl: string
beforeAll(async () => {
  const port = await freePort()
  metricsUrl = `http://127.0.0.1:${port}/metrics`
  // Metrics do not depend on the log level.
  server = await startServer({ METRICS_LISTEN: `127.0.0.1:${port}`, LOG: 'silent' })
})
afterAll(() => server?.close())

/** Returns the value of the sample with exactly that name and those labels. */
async function sample(name: string): Promise<number | undefined> {
  const text = await (await fetch(metricsUrl)).text()
  const line = text.split('\n').find((line) => line.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length))
}

describe('a server with METRICS_LISTEN', () => {
  it('counts what happens, by event, endpoint and operation', async () => {
    const person = await createPerson(server)
    const { access_token: token } = await (await registerPlainClient(server)).connect(person)
    await callTool(server, token, 'whoami')
    await server.fetch(`${server.baseUrl}/made-up/${'x'.repeat(50)}`)

    const requests = 'drawbridge_http_request_duration_seconds_count'
    expect(await sample('drawbridge_events_total{event="signed_in",detail=""}')).toBe(1)
    expect(await sample('drawbridge_events_total{event="token_issued",detail="authorization_code"}')).toBe(1)
    expect(await sample(`${requests}{endpoint="/mcp",status="2xx"}`)).toBe(1)
    expect(await sample(`${requests}{endpoint="other",status="4xx"}`)).toBe(1)
    expect(await sample('drawbridge_http_requests_in_flight')).toBe(0)
    const reads =
      'drawbridge_store_operation_duration_seconds_count{operation="findAccessToken",outcome="ok"}'
    expect(await sample(reads)).toBe(1)
    expect(await sample('drawbridge_tool_calls_total{tool="whoami",outcome="ok"}')).toBe(1)
    expect(await sample('drawbridge_tool_call_duration_seconds_count{tool="whoami"}')).toBe(1)
    const unknown = { method: 'tools/call', params: { name: 'made-up', arguments: {} } }
    await postMcp(server, unknown, { authorization: `Bearer ${token}` })
    expect(await sample('drawbridge_tool_calls_total{tool="other",outcome="failed"}')).toBe(1)
    expect(await sample('process_resident_memory_bytes')).toBeGreaterThan(1_000_000)
  })

  it('serves them on that address only, and nothing else there', async () => {
    expect((await server.fetch(`${server.baseUrl}/metrics`)).status).toBe(404)
    for (const path of ['/', '/mcp', '/healthz', '/.well-known/oauth-authorization-server']) {
      expect([path, (await fetch(new URL(path, metricsUrl))).status]).toEqual([path, 404])
    }
  })

  it('shows no person, client or token there', async () => {
    const text = await (await fetch(metricsUrl)).text()
    expect(server.secrets.findIn(text)).toEqual([])
    expect(text).not.toMatch(/mcpc_|@|made-up/)
  })
})
