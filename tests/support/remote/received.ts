import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { readText, sendJson } from './exchange-parts.ts'

/** A message of any shape in a test. */
export type Json = Record<string, any> // oxlint-disable-line typescript/no-explicit-any

/** One HTTP request received by a remote, to be looked at or answered by a test. */
export interface Received {
  method: string
  path: string
  /** Origin of the remote. */
  origin: string
  headers: IncomingHttpHeaders
  /** The body as it came. */
  text: string
  /** The body parsed as JSON; empty if it is not JSON. */
  body: Json
  /** Time of arrival, by `performance.now()`. */
  at: number
  incoming: IncomingMessage
  response: ServerResponse
  /** Answers with JSON; text and bytes are sent unchanged. */
  json(status: number, value: unknown, headers?: Record<string, string>): void
  /** Answers with a JSON-RPC response to this request; `said` has its result or error, or another id. */
  answer(said: Json, status?: number): void
  /** Starts a stream of events with `text` written unchanged. */
  events(text?: string): ServerResponse
}

/** Reads a request to the end. */
export async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<Received> {
  const at = performance.now()
  response.on('error', () => {})
  const text = await readText(incoming)
  const received: Received = {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    origin: `http://${incoming.headers.host}`,
    headers: incoming.headers,
    text,
    body: parsed(text),
    at,
    incoming,
    response,
    json(status, value, headers = {}) {
      if (typeof value !== 'string' && !Buffer.isBuffer(value))
        return sendJson(response, status, value, headers)
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(value)
    },
    answer: (said, status = 200) =>
      sendJson(response, status, { jsonrpc: '2.0', id: received.body['id'] ?? null, ...said }),
    events(text = '') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(text)
      return response
    },
  }
  return received
}

/** Names a request for a log: a POST by its JSON-RPC method, others by their HTTP method. */
export function nameOf({ method, body }: Received): string {
  if (method !== 'POST') return method
  return Array.isArray(body) ? 'batch' : ((body['method'] as string | undefined) ?? 'response')
}

function parsed(text: string): Json {
  try {
    return (JSON.parse(text) ?? {}) as Json
  } catch {
    return {}
  }
}
