import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

/** The bridge sends its requests with an `HttpClient`; `fetch` is there because `Runtime` has it. */
export const systemRuntime: Runtime = {
  now: () => Math.floor(Date.now() / 1000),
  randomBytes: (length) => new Uint8Array(randomBytes(length)),
  sleep: (ms) => delay(ms),
  fetch: (request, { signal } = {}) => fetch(request, signal ? { signal } : {}),
}
