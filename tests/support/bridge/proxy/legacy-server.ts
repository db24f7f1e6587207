import type { ServerResponse } from 'node:http'
import { startPeer, type HttpPeer, type PeerRequest } from './http-peer.ts'

/** A server of the 2025 era with sessions and a GET stream, as far as transports need it. */
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

/** Starts a server on loopback. */
export async function startLegacyServer(): Promise<LegacyServer> {
  let opened = 0
  const peer = await startPeer((request) => {
    if (!server.intercept(request)) answer(request)
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
    log: () => peer.requests.map((request) => methodOf(request)),
  }

  function answer(request: PeerRequest): void {
    const session = request.headers['mcp-session-id']
    const isOpening = request.method === 'POST' && methodOf(request) === 'initialize'
    if (!isOpening && server.hasSessions && !server.sessions.has(String(session)))
      return request.json(server.lostStatus, {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32_000, message: 'Bad Request: No valid session ID provided' },
      })
    if (request.method === 'GET') return stream(request)
    if (request.method === 'DELETE') {
      server.sessions.delete(String(session))
      return void request.response.writeHead(200).end()
    }
    answerMessage(request)
  }

  function stream(request: PeerRequest): void {
    if (server.streamStatus !== 200) return void request.response.writeHead(server.streamStatus).end()
    request.events(': open\n\n')
    server.streams.add(request.response)
    request.response.on('close', () => server.streams.delete(request.response))
  }

  function answerMessage(request: PeerRequest): void {
    const message = request.message()
    if (Array.isArray(message))
      return request.json(
        200,
        message
          .filter((one) => 'id' in one)
          .map((one: { id: unknown }) => ({ jsonrpc: '2.0', id: one.id, result: {} })),
      )
    if (message['id'] === undefined || message['method'] === undefined)
      return void request.response.writeHead(202).end()
    if (message['method'] !== 'initialize')
      return request.json(200, {
        jsonrpc: '2.0',
        id: message['id'],
        result: { echo: message['params'] ?? null },
      })
    opened += 1
    const id = `session-${opened}`
    server.sessions.add(id)
    request.json(
      200,
      {
        jsonrpc: '2.0',
        id: message['id'],
        result: {
          protocolVersion: server.revision,
          capabilities: {},
          serverInfo: { name: 's', version: '1' },
        },
      },
      server.hasSessions ? { 'Mcp-Session-Id': id } : {},
    )
  }

  return server
}

function methodOf(request: PeerRequest): string {
  if (request.method !== 'POST') return request.method
  const message = request.message()
  if (Array.isArray(message)) return 'batch'
  return typeof message['method'] === 'string' ? message['method'] : 'response'
}
