import type { HttpResponse } from '../http/http-client.ts'

const graceMs = 1000

/** Reads what is left and forgets it, so that the connection can be used again; what goes on for a second is cut off. */
export function discard(response: Pick<HttpResponse, 'body'>): void {
  const { body } = response
  if (body.readableEnded || body.destroyed) return
  body.on('error', () => {})
  body.resume()
  const timer = setTimeout(() => body.destroy(), graceMs)
  timer.unref()
  body.once('close', () => clearTimeout(timer))
}
