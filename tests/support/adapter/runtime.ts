import { randomBytes } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'

/** The real clock and generator, without a network. Sleeps do not keep the process alive. */
export function createSystemRuntime(): Runtime {
  return {
    now: () => Math.floor(Date.now() / 1000),
    randomBytes: (length) => randomBytes(length),
    sleep: (ms) =>
      new Promise((resolve) => {
        setTimeout(resolve, ms).unref()
      }),
    fetch() {
      throw new Error('no network')
    },
  }
}
