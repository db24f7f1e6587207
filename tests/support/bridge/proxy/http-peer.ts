import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** One request received by an {@link HttpPeer}, with its body. */
export interface PeerRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** Time of arrival, by `performance.now()`. */
  at: number
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
export async function startPeer(answer: (request: PeerRequest) => void, port = 0): Promise<HttpPeer> {
  const requests: PeerRequest[] = []
  const sockets = new Set<Socket>()
  const server = createServer({ maxHeaderSize: 1024 * 1024 }, (incoming, response) => {
    response.on('error', () => {})
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const request = toPeerRequest(
        incoming.method,
        incoming.url,
        incoming.headers,
        Buffer.concat(chunks),
        response,
      )
      requests.push(request)
      answer(request)
    })
  })
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

function toPeerRequest(
  method: string | undefined,
  path: string | undefined,
  headers: IncomingHttpHeaders,
  bytes: Buffer,
  response: ServerResponse,
): PeerRequest {
  const body = bytes.toString('utf8')
  return {
    method: method ?? '',
    path: path ?? '',
    headers,
    body,
    at: performance.now(),
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
