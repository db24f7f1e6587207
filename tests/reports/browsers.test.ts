import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from '../e2e/gateway-server.ts'
import { createPerson } from '../e2e/person.ts'
import { registerPlainClient } from '../e2e/plain-client.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'

const origin = 'https://dash.example.com'

describe('a page of an allowed origin', () => {
  let own: ServerProcess
  let gateway: ServerProcess
  beforeAll(async () => {
    own = await startServer({ ALLOWED_ORIGINS: origin })
    const url = 'http://127.0.0.1:9/mcp'
    gateway = await startGateway(
      { url, forward: ['accept-language', 'X-Tenant'] },
      { ALLOWED_ORIGINS: origin },
    )
  })
  afterAll(async () => {
    await own?.close()
    await gateway?.close()
  })

  const client = 'authorization,content-type,accept,mcp-protocol-version'
  it.each<[server: 'own' | 'gateway', method: string, names: string]>([
    ['own', 'POST', 'content-type'],
    ['own', 'POST', client],
    ['own', 'POST', `${client},mcp-session-id`],
    ['own', 'POST', `${client},mcp-method,mcp-name,mcp-param-region`],
    ['own', 'POST', 'Authorization, Content-Type, Traceparent, TraceState, Baggage'],
    ['own', 'GET', 'authorization,last-event-id,mcp-protocol-version,mcp-session-id'],
    ['own', 'DELETE', 'authorization,mcp-session-id'],
    ['gateway', 'POST', `${client},x-tenant,accept-language`],
    ['gateway', 'POST', `${client},traceparent,tracestate,baggage,mcp-of-a-later-revision`],
  ])(
    'a page of an allowed origin may send to the server (%s) with %s every header that it reads or passes on: %s',
    async (which, method, names) => {
      const server = { own, gateway }[which]
      const { status, headers } = await server.fetch(server.mcpUrl, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': names },
      })
      const allowed = headers.get('access-control-allow-headers')?.split(/, */) ?? []
      const missing = names
        .toLowerCase()
        .split(/, */)
        .filter((name) => !allowed.includes(name))
      expect([status, missing]).toEqual([204, []])
      expect(allowed).not.toContain('*')
    },
  )

  it('a page of an allowed origin may not send headers that the server ignores', async () => {
    const { headers } = await own.fetch(own.mcpUrl, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-tenant,x-forwarded-for,cookie',
      },
    })
    expect(headers.get('access-control-allow-headers')).not.toMatch(/x-|cookie/)
  })
})

describe('Accept', () => {
  let server: ServerProcess
  let authorization: string
  beforeAll(async () => {
    server = await startServer()
    const client = await registerPlainClient(server)
    authorization = `Bearer ${(await client.connect(await createPerson(server))).access_token}`
  })
  afterAll(() => server?.close())

  it.each<[accept: string, status: number]>([
    ['application/json, text/event-stream', 200],
    ['text/event-stream,application/json', 200],
    ['Application/JSON, Text/Event-Stream', 200],
    ['APPLICATION/JSON', 200],
    ['application/json', 200],
    ['application/*', 200],
    ['application/*, text/*;q=0.5', 200],
    ['*/*', 200],
    ['*/*;q=0.1', 200],
    ['application/json;q=0.9;v=1, text/event-stream;q=0.8', 200],
    ['text/html, application/xhtml+xml, */*;q=0.8', 200],
    ['', 200],
    ['text/event-stream', 406],
    ['text/html', 406],
    ['text/*', 406],
    ['application/json;q=0, text/event-stream', 406],
    ['application/json;q=0, */*', 406],
    ['application/json-seq, text/event-streams', 406],
  ])('RFC 9110 12.5.1: a call that accepts %j is %i', async (accept, status) => {
    const response = await server.fetch(server.mcpUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, authorization },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    })
    expect(response.status).toBe(status)
  })

  it.each<[accept: string, type: string]>([
    ['text/html', 'text/html; charset=utf-8'],
    ['Text/HTML, application/json;q=0.9', 'text/html; charset=utf-8'],
    ['text/html;q=0, application/json', 'application/json'],
    ['*/*', 'application/json'],
    ['', 'application/json'],
  ])('RFC 9110 12.5.1: an error for a reader that accepts %j is %s', async (accept, type) => {
    const response = await fetch(`${server.baseUrl}/nothing`, { headers: { accept } })
    expect([response.status, response.headers.get('content-type')]).toEqual([404, type])
  })
})
