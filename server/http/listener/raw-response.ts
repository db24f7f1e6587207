import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** A response that does not depend on the request. */
export interface RawAnswer {
  status: number
  /** Alternating names and values. */
  headers: string[]
  body: string
}

/**
 * Returns an error as JSON in the shape of RFC 6749 section 5.2, for requests that never become a `Request`. Every page may read
 * it, because it reveals nothing: a client in a browser must learn when to retry.
 */
export function rawRefusal(
  status: number,
  error: { code: string; description: string },
  headers: readonly string[] = [],
): RawAnswer {
  const body = JSON.stringify({ error: error.code, error_description: error.description })
  return {
    status,
    body,
    headers: ['Content-Length', String(Buffer.byteLength(body)), ...ofEveryRefusal, ...headers],
  }
}

const ofEveryRefusal = Object.entries({
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Retry-After',
}).flat()

const closing = ['Connection', 'close']

/** Responds to a request that Node parsed. `close` closes the connection: the rest of the body is not worth reading. */
export function sendAnswer(response: ServerResponse, answer: RawAnswer, { close }: { close: boolean }): void {
  response.writeHead(answer.status, close ? [...answer.headers, ...closing] : answer.headers)
  response.end(response.req.method === 'HEAD' ? undefined : answer.body)
}

/**
 * Responds to bytes that Node could not parse as a request, and closes the connection: the start of the next one is unknown.
 */
export function sendToSocket(socket: Socket, { status, headers, body }: RawAnswer): void {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`]
  const all = [...headers, ...closing]
  for (let index = 0; index < all.length; index += 2) lines.push(`${all[index]}: ${all[index + 1]}`)
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
