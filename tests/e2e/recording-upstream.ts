import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One request as the upstream received it. */
export interface RecordedRequest {
  method: string
  headers: IncomingHttpHeaders
  /** Alternating names and values, as they were sent. */
  rawHeaders: string[]
  body: string
}

/** An upstream with scripted responses. */
export interface RecordingUpstream {
  url: string
  requests: RecordedRequest[]
  answer: (response: ServerResponse, request: RecordedRequest) => void
  connections(): Promise<number>
  close(): void
}

/** Starts an upstream on loopback. By default it responds to every request with an empty result. */
export async function startRecordingUpstream(): Promise<RecordingUpstream> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    response.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', headers, rawHeaders } = request
      const recorded = { method, headers, rawHeaders, body: Buffer.concat(chunks).toString() }
      upstream.requests.push(recorded)
      upstream.answer(response, recorded)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream: RecordingUpstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests: [],
    answer: answerEmpty,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
      }),
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
  return upstream
}

/** Returns the id of a request's message. */
export function idOf({ body }: Pick<RecordedRequest, 'body'>): unknown {
  return body === '' ? undefined : (JSON.parse(body) as { id?: unknown }).id
}

/** Responds with JSON. */
export function answerJson(
  response: ServerResponse,
  value: unknown,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string | string[]> } = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(value))
}

/** Responds like a minimal server: accepts a notification, has no streams, and returns an empty result for a request. */
export function answerEmpty(response: ServerResponse, request: RecordedRequest): void {
  const id = idOf(request)
  if (request.method === 'POST' && id !== undefined) answerJson(response, { jsonrpc: '2.0', id, result: {} })
  else response.writeHead(request.method === 'GET' ? 405 : 202).end()
}
