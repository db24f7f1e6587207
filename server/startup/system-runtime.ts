import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

/** The real clock, randomness, sleep and network. */
export const systemRuntime: Runtime = {
  now: () => Math.floor(Date.now() / 1000),
  randomBytes: (length) => new Uint8Array(randomBytes(length)),
  sleep: (ms) => delay(ms),
  async fetch(request, { signal } = {}) {
    if (!signal) return fetch(request)
    const response = await fetch(request, { signal })
    if (!response.body) return response
    // Some releases of Node 22 lose the signal once the headers have arrived: a pipe keeps it.
    const body = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal })
    return new Response(body, response)
  },
}
