import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { startPeer, type PeerRequest } from './http-peer.ts'

/** A message of any shape in a test. */
export type Json = Record<string, any> // oxlint-disable-line typescript/no-explicit-any

/** One HTTP request received by a test server. */
export interface Received {
  method: string
  headers: IncomingHttpHeaders
  body: Json
  /** The body as it came. */
  text: string
  response: ServerResponse
}

/** A server on loopback whose answers are defined by a test. */
export interface TestServer {
  url: string
  received: Received[]
  /** Returns the JSON-RPC methods of the POSTs so far. */
  methods(): string[]
  close(): Promise<void>
}

/** Starts a server that passes each request to `handle`; answers 500 if it throws. */
export async function startServer(handle: (request: Received) => unknown): Promise<TestServer> {
  const received: Received[] = []
  const peer = await startPeer((request) => {
    const one = receivedBy(request)
    received.push(one)
    try {
      handle(one)
    } catch (error) {
      one.response.writeHead(500).end(String(error))
    }
  })
  return {
    url: `${peer.origin}/mcp`,
    received,
    methods: () =>
      received.filter(({ method }) => method === 'POST').map(({ body }) => body['method'] as string),
    close: () => peer.close(),
  }
}

/** Returns a request for the handlers of {@link legacyServer} and {@link modernServer}. */
export function receivedBy(request: PeerRequest): Received {
  const { method, headers, body: text, response } = request
  return { method, headers, response, text, body: request.message() }
}

/** Answers with JSON. */
export function reply(response: ServerResponse, body: Json, status = 200, headers: Json = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Special behaviour of a test server of either era. */
export interface Behaviour {
  /** Returns whether the token is valid; 401 otherwise. */
  isAllowed?(request: Received): boolean
  /** Handles a request itself and then returns true. */
  handle?(request: Received): boolean
  tools?: Json[]
  /** Replaces members of the result of `initialize`. */
  opening?: Json
  /** Opens a session; no id for none. */
  sessionId?(): string | undefined
  /** Headers of all answers that it does not handle itself. */
  headers?: Json
}

const echoTool = { name: 'echo', inputSchema: { type: 'object', properties: {} } }

/** Creates a server of the 2025 era with a session and no GET stream. */
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
        ...behaviour.opening,
      }
      const id = behaviour.sessionId === undefined ? 's1' : behaviour.sessionId()
      const headers = { ...(id !== undefined && { 'Mcp-Session-Id': id }), ...behaviour.headers }
      return reply(response, { jsonrpc: '2.0', id: body['id'], result }, 200, headers)
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

/** Creates a server that supports only 2026-07-28. */
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
  const send = (said: Json): void =>
    reply(response, { jsonrpc: '2.0', id: body['id'], ...said }, 200, behaviour.headers)
  switch (body['method']) {
    case 'tools/list':
      return send({ result: { ...extra, tools: behaviour.tools ?? [echoTool] } })
    case 'tools/call': {
      const text = JSON.stringify(body['params'].arguments ?? null)
      return send({ result: { ...extra, content: [{ type: 'text', text }] } })
    }
    case 'ping':
      return send({ result: {} })
    default:
      return send({ error: { code: -32_601, message: 'Method not found' } })
  }
}

function refuse(response: ServerResponse): void {
  const headers = { 'WWW-Authenticate': 'Bearer resource_metadata="http://127.0.0.1/x"' }
  response.writeHead(401, headers).end()
}
