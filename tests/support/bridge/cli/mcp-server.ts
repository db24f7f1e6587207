import type { IncomingHttpHeaders } from 'node:http'
import { type PeerRequest, startPeer } from '../proxy/http-peer.ts'

/** A small MCP server of the 2025 era. */
export interface McpServer {
  origin: string
  url: string
  /** Methods of requests and notifications in order, and `DELETE` of sessions. */
  seen: string[]
  /** Headers of the requests, without those of the protocol. */
  headers: IncomingHttpHeaders[]
  close(): Promise<void>
}

/** Deviations of a server from its defaults. */
export interface McpServerOptions {
  /** The only accepted token; without one in the request, the server asks for a sign-in. */
  token?: string
  /** Returns the members of the challenge. */
  challenge?: (origin: string) => string
  /** Answers requests outside the endpoint; false for 404. */
  other?: (request: PeerRequest, origin: string) => boolean
  /** Returns the result for a method; undefined for the default one. */
  answer?: (method: string | undefined) => Record<string, unknown> | undefined
  /** The `Date` header. */
  date?: () => string
}

/** Starts a server on loopback. Answers only `initialize` and `tools/list`. */
export async function startMcpServer(options: McpServerOptions = {}): Promise<McpServer> {
  const seen: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const peer = await startPeer((request) => {
    const { response } = request
    if (options.date) response.setHeader('Date', options.date())
    if (request.path !== '/mcp') {
      if (options.other?.(request, peer.origin) !== true) response.writeHead(404).end()
    } else if (options.token !== undefined && request.headers.authorization !== `Bearer ${options.token}`) {
      const challenge = options.challenge?.(peer.origin) ?? 'Bearer'
      response.writeHead(401, { 'WWW-Authenticate': challenge }).end()
    } else {
      headers.push(request.headers)
      if (request.method === 'POST') answer(request)
      else {
        if (request.method === 'DELETE') seen.push('DELETE')
        response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      }
    }
  })

  function answer(request: PeerRequest): void {
    const { id, method } = request.message() as { id?: unknown; method?: string }
    seen.push(method ?? 'response')
    if (id === undefined) return void request.response.writeHead(202).end()
    const session = method === 'initialize' ? { 'Mcp-Session-Id': 'session-1' } : {}
    request.json(200, { jsonrpc: '2.0', id, ...(options.answer?.(method) ?? resultOf(method)) }, session)
  }

  return { origin: peer.origin, url: `${peer.origin}/mcp`, seen, headers, close: () => peer.close() }
}

function resultOf(method: string | undefined): Record<string, unknown> {
  switch (method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'small', version: '1' },
        },
      }
    case 'tools/list':
      return { result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } }
    default:
      return { error: { code: -32_601, message: 'Method not found' } }
  }
}
