import { randomFillSync } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

export const systemRuntime: Runtime = {
  now: () => Math.floor(Date.now() / 1000),
  randomBytes: drawRandomBytes,
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

/** A buffer of random bytes: a request needs several dozen, and each call of the generator is expensive. */
const pool = new Uint8Array(4096)
let used = pool.length

function drawRandomBytes(length: number): Uint8Array<ArrayBuffer> {
  if (length > pool.length) return randomFillSync(new Uint8Array(length))
  if (used + length > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const drawn = pool.slice(used, used + length)
  // Do not keep bytes here that become secrets elsewhere.
  pool.fill(0, used, used + length)
  used += length
  return drawn
}
