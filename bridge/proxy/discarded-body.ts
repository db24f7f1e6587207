import type { Readable } from 'node:stream'

const graceMs = 1000

/** Reads what is left and forgets it, so that the connection can be used again; what goes on for a second is cut off. */
export function discard(body: Readable): void {
  if (body.readableEnded || body.destroyed) return
  body.on('error', () => {})
  body.resume()
  const timer = setTimeout(() => body.destroy(), graceMs)
  timer.unref()
  body.once('close', () => clearTimeout(timer))
}
