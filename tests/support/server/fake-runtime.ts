import { randomBytes } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

/** A {@link Runtime} whose clock only moves when a test says so. */
export interface FakeRuntime extends Runtime {
  advance(seconds: number): void
}

/**
 * Creates a runtime with real randomness, a stopped clock and no network; sleeping moves the clock instead of
 * waiting.
 */
export function createFakeRuntime(start: number = Math.floor(Date.now() / 1000)): FakeRuntime {
  let milliseconds = start * 1000
  return {
    now: () => Math.floor(milliseconds / 1000),
    randomBytes: (length) => new Uint8Array(randomBytes(length)),
    async sleep(ms) {
      // Two that sleep at the same time wake at the same time.
      const end = milliseconds + ms
      await new Promise((resolve) => setImmediate(resolve))
      milliseconds = Math.max(milliseconds, end)
    },
    fetch: (request) =>
      Promise.reject(new Error(`A test reached for the network: ${new URL(request.url).origin}`)),
    advance(seconds) {
      milliseconds += seconds * 1000
    },
  }
}
