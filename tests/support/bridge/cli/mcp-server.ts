import type { IncomingHttpHeaders } from 'node:http'
import { type PeerRequest, startPeer } from '../proxy/http-peer.ts'
import { legacyServer, receivedBy, reply } from '../proxy/scripted-server.ts'

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
  other?: (request: PeerRequest, origin: string) => boolean | Promise<boolean>
  /** Returns the result for a method; undefined for the default one. */
  answer?: (method: string | undefined) => Record<string, unknown> | undefined
  /** The `Date` header. */
  date?: () => string
}

/** Starts the scripted server on loopback, with what surrounds its endpoint. */
export async function startMcpServer(options: McpServerOptions = {}): Promise<McpServer> {
  const seen: string[] = []
  const headers: IncomingHttpHeaders[] = []
  const endpoint = legacyServer({
    opening: { capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' } },
    handle({ method, body: { id, method: asked }, response }) {
      if (method !== 'GET') seen.push(method === 'DELETE' ? 'DELETE' : ((asked as string) ?? 'response'))
      const answer = id === undefined ? undefined : options.answer?.(asked as string | undefined)
      if (answer === undefined) return false
      reply(response, { jsonrpc: '2.0', id, ...answer }, 200, { 'Mcp-Session-Id': 's1' })
      return true
    },
  })
  const peer = await startPeer(async (request) => {
    const { response } = request
    if (options.date) response.setHeader('Date', options.date())
    if (request.path !== '/mcp') {
      if ((await options.other?.(request, peer.origin)) !== true) response.writeHead(404).end()
    } else if (options.token !== undefined && request.headers.authorization !== `Bearer ${options.token}`) {
      const challenge = options.challenge?.(peer.origin) ?? 'Bearer'
      response.writeHead(401, { 'WWW-Authenticate': challenge }).end()
    } else {
      headers.push(request.headers)
      endpoint(receivedBy(request))
    }
  })
  return { origin: peer.origin, url: `${peer.origin}/mcp`, seen, headers, close: () => peer.close() }
}
