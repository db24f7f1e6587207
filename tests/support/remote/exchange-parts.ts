import type { IncomingMessage, ServerResponse } from 'node:http'

const texts = new WeakMap<IncomingMessage, Promise<string>>()

/**
 * Reads the whole body as text, once for all who ask. Uses events, as iterating over the request would take as long as
 * everything else.
 */
export function readText(request: IncomingMessage): Promise<string> {
  const text =
    texts.get(request) ??
    new Promise<string>((resolve, reject) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => resolve(Buffer.concat(chunks).toString()))
      request.on('error', reject)
    })
  texts.set(request, text)
  return text
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string | string[]> = {},
): void {
  const bytes = Buffer.from(JSON.stringify(value))
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': bytes.length,
    'Cache-Control': 'no-store',
    ...headers,
  })
  response.end(bytes)
}

/** The head of a stream of events. */
export const eventStreamHead: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

/** Answers with plain text. */
export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' })
  response.end(text)
}

/** Resolves after `ms` milliseconds; synchronously for 0. */
export function pause(ms: number): Promise<void> | undefined {
  return ms > 0 ? new Promise((resolve) => setTimeout(resolve, ms)) : undefined
}
