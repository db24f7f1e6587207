import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { readText } from '../../remote/exchange-parts.ts'

/** One request received by an {@link HttpPeer}, with its body. */
export interface PeerRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** Time of arrival, by `performance.now()`. */
  at: number
  incoming: IncomingMessage
  response: ServerResponse
  /** Parses the body as JSON; an empty object without one. */
  message(): Record<string, unknown>
  json(status: number, value: unknown, headers?: Record<string, string>): void
  /** Starts a stream of events with `text` written unchanged. */
  events(text: string, headers?: Record<string, string>): void
}

/** A server on loopback whose behaviour is defined by the test. */
export interface HttpPeer {
  origin: string
  /** All requests so far, including unanswered ones. */
  requests: PeerRequest[]
  close(): Promise<void>
}

/** Starts a server, on a free port by default, that passes every request to `answer`. */
export async function startPeer(answer: (request: PeerRequest) => unknown, port = 0): Promise<HttpPeer> {
  const requests: PeerRequest[] = []
  const sockets = new Set<Socket>()
  async function take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const body = await readText(incoming).catch(() => undefined)
    if (body === undefined) return
    const request = toPeerRequest(incoming, body, response)
    requests.push(request)
    await answer(request)
  }

  const server = createServer({ maxHeaderSize: 1024 * 1024 }, (...exchange) => void take(...exchange))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function toPeerRequest(incoming: IncomingMessage, body: string, response: ServerResponse): PeerRequest {
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    body,
    at: performance.now(),
    incoming,
    response,
    message: () => JSON.parse(body === '' ? '{}' : body) as Record<string, unknown>,
    json(status, value, extra = {}) {
      response.writeHead(status, { 'Content-Type': 'application/json', ...extra })
      response.end(typeof value === 'string' ? value : JSON.stringify(value))
    },
    events(text, extra = {}) {
      response.writeHead(200, { 'Content-Type': 'text/event-stream', ...extra })
      response.write(text)
    },
  }
}
