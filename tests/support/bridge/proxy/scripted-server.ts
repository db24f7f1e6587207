import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A message in a test: whatever it is. */
export type Json = Record<string, any> // oxlint-disable-line typescript/no-explicit-any

/** One HTTP request that a test server got. */
export interface Received {
  method: string
  headers: IncomingMessage['headers']
  body: Json
  response: ServerResponse
}

/** A server on loopback whose answers a test decides. */
export interface TestServer {
  url: string
  received: Received[]
  /** JSON-RPC methods of the POSTs so far. */
  methods(): string[]
  close(): Promise<void>
}

/** `handle` gets each request; one that throws answers 500. */
export async function startServer(handle: (request: Received) => unknown): Promise<TestServer> {
  const received: Received[] = []
  const server: Server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const body = text === '' ? {} : (JSON.parse(text) as Json)
      const request = { method: incoming.method ?? '', headers: incoming.headers, body, response }
      received.push(request)
      try {
        handle(request)
      } catch (error) {
        response.writeHead(500).end(String(error))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    received,
    methods: () =>
      received.filter(({ method }) => method === 'POST').map(({ body }) => body['method'] as string),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Answers with JSON. */
export function reply(response: ServerResponse, body: Json, status = 200, headers: Json = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** How a test server of either era behaves beyond the ordinary. */
export interface Behaviour {
  /** Whether the token is good; a 401 else. */
  isAllowed?(request: Received): boolean
  /** Takes a request over; true if it did. */
  handle?(request: Received): boolean
  tools?: Json[]
}

const echoTool = { name: 'echo', inputSchema: { type: 'object', properties: {} } }

/** A server of the 2025 era with a session, without a standing stream. */
export function legacyServer(behaviour: Behaviour = {}): (request: Received) => void {
  return (request) => {
    const { method, body, response } = request
    if (behaviour.isAllowed?.(request) === false) return refuse(response)
    if (behaviour.handle?.(request) === true) return
    if (method === 'DELETE') return void response.writeHead(200).end()
    if (method !== 'POST') return void response.writeHead(405).end()
    if (body['id'] === undefined || body['method'] === undefined) return void response.writeHead(202).end()
    if (body['method'] === 'initialize') {
      const result = {
        protocolVersion: body['params'].protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'legacy', version: '1' },
      }
      return reply(response, { jsonrpc: '2.0', id: body['id'], result }, 200, { 'Mcp-Session-Id': 's1' })
    }
    if (request.headers['mcp-session-id'] === undefined)
      return reply(
        response,
        { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'Bad Request: No valid session ID' } },
        400,
      )
    answer(request, behaviour)
  }
}

/** A server of 2026-07-28 that knows nothing else. */
export function modernServer(behaviour: Behaviour = {}): (request: Received) => void {
  return (request) => {
    const { method, body, response, headers } = request
    if (behaviour.isAllowed?.(request) === false) return refuse(response)
    if (behaviour.handle?.(request) === true) return
    if (method !== 'POST') return void response.writeHead(405).end()
    const id = body['id']
    if (headers['mcp-protocol-version'] !== '2026-07-28') {
      const data = { supported: ['2026-07-28'], requested: 'older' }
      const error = { code: -32_022, message: 'Unsupported protocol version', data }
      return reply(response, { jsonrpc: '2.0', id: id ?? null, error }, 400)
    }
    if (body['method'] === 'server/discover') {
      const result = {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: { listChanged: true } },
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'modern', version: '1' } },
      }
      return reply(response, { jsonrpc: '2.0', id, result })
    }
    answer(request, behaviour, { resultType: 'complete' })
  }
}

function answer({ body, response }: Received, behaviour: Behaviour, extra: Json = {}): void {
  const id = body['id']
  switch (body['method']) {
    case 'tools/list':
      return reply(response, {
        jsonrpc: '2.0',
        id,
        result: { ...extra, tools: behaviour.tools ?? [echoTool] },
      })
    case 'tools/call': {
      const text = JSON.stringify(body['params'].arguments ?? null)
      return reply(response, { jsonrpc: '2.0', id, result: { ...extra, content: [{ type: 'text', text }] } })
    }
    case 'ping':
      return reply(response, { jsonrpc: '2.0', id, result: {} })
    default:
      return reply(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } })
  }
}

function refuse(response: ServerResponse): void {
  const headers = { 'WWW-Authenticate': 'Bearer resource_metadata="http://127.0.0.1/x"' }
  response.writeHead(401, headers).end()
}
