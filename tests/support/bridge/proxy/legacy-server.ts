import type { ServerResponse } from 'node:http'
import { startPeer, type HttpPeer, type PeerRequest } from './http-peer.ts'
import { legacyServer, receivedBy, reply, type Json, type Received } from './scripted-server.ts'

/** The scripted server with sessions that may be lost, and a GET stream. */
export interface LegacyServer extends HttpPeer {
  /** Live sessions. */
  sessions: Set<string>
  /** Open GET streams. */
  streams: Set<ServerResponse>
  /** The revision returned by `initialize`. */
  revision: string
  /** Issues session ids. */
  hasSessions: boolean
  /** Status of a request in a dead session. */
  lostStatus: 400 | 404
  /** Status of a refused GET stream. */
  streamStatus: number
  /** Called first for each request; `true` if it was handled. */
  intercept(request: PeerRequest): boolean
  /** Returns the methods of the POSTs so far, in order; the HTTP method of other requests. */
  log(): string[]
}

/** Starts the server on loopback. It answers requests with what they ask. */
export async function startLegacyServer(): Promise<LegacyServer> {
  let opened = 0
  const answer = legacyServer({
    get opening() {
      return { protocolVersion: server.revision, capabilities: {} }
    },
    sessionId() {
      const id = `session-${(opened += 1)}`
      server.sessions.add(id)
      return server.hasSessions ? id : undefined
    },
    handle(request) {
      const { method, headers, body, response } = request
      if (body['method'] === 'initialize') return false
      const session = String(headers['mcp-session-id'])
      if (server.hasSessions && !server.sessions.has(session)) {
        const error = { code: -32_000, message: 'Bad Request: No valid session ID provided' }
        reply(response, { jsonrpc: '2.0', id: null, error }, server.lostStatus)
      } else if (method === 'GET') stream(response)
      else if (Array.isArray(body)) reply(response, body.filter((one: Json) => 'id' in one).map(echo))
      else if (body['id'] !== undefined && body['method'] !== undefined) reply(response, echo(body))
      else {
        if (method === 'DELETE') server.sessions.delete(session)
        return false
      }
      return true
    },
  })
  const peer = await startPeer((request) => {
    if (!server.intercept(request)) answer(receivedBy(request))
  })
  const server: LegacyServer = {
    ...peer,
    sessions: new Set(),
    streams: new Set(),
    revision: '2025-11-25',
    hasSessions: true,
    lostStatus: 404,
    streamStatus: 200,
    intercept: () => false,
    log: () => peer.requests.map((request) => methodOf(receivedBy(request))),
  }

  function stream(response: ServerResponse): void {
    if (server.streamStatus !== 200) return void response.writeHead(server.streamStatus).end()
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(': open\n\n')
    server.streams.add(response)
    response.on('close', () => server.streams.delete(response))
  }

  return server
}

function echo({ id, params }: Json): Json {
  return { jsonrpc: '2.0', id: id as unknown, result: { echo: (params as unknown) ?? null } }
}

function methodOf({ method, body }: Received): string {
  if (method !== 'POST') return method
  return Array.isArray(body) ? 'batch' : ((body['method'] as string | undefined) ?? 'response')
}
