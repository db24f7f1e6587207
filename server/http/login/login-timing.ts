import type { Runtime } from '@drawbridge/shared/runtime.ts'

/** More than any way of refusing takes here, and less than a person minds after a wrong password. */
const refusalFloorMs = 500

/** When a refusal may be answered. */
export interface RefusalFloor {
  /** Resolves half a second after the start, at once when that is past. */
  reached(): Promise<void>
}

/**
 * Starts the shortest time that refusing a password takes. Wrong passwords, unknown accounts and ones over their limit cost
 * this server and the provider different work; how long an answer takes must not tell which it was (OWASP Authentication
 * Cheat Sheet, authentication responses). A provider that needs longer than that shows through.
 */
export function startRefusalFloor(
  runtime: Pick<Runtime, 'sleep'>,
  milliseconds: () => number = () => performance.now(),
): RefusalFloor {
  const startedAt = milliseconds()
  return {
    async reached() {
      const left = Math.ceil(refusalFloorMs - (milliseconds() - startedAt))
      if (left > 0) await runtime.sleep(left)
    },
  }
}
