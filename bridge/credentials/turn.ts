import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CredentialError, type Lease } from './credential-store.ts'

const pollMs = { least: 50, most: 250 }

/** Something held alone, until it is given back. */
export interface Turn extends Lease {
  release(): Promise<void>
}

/** How long to wait for a turn, and what makes it needless. */
export interface TurnOptions<T> {
  waitMs: number
  instead?: (() => Promise<T | undefined>) | undefined
}

/**
 * Runs `work` once `take` answers a turn, asking it again and again. `instead` is asked before every attempt, and its answer
 * is the answer of all. Rejects with {@link CredentialError} `busy` after `waitMs`, and with what `instead` rejects with.
 */
export async function inTurn<T>(
  name: string,
  options: TurnOptions<T>,
  take: () => Promise<Turn | undefined>,
  work: (lease: Lease) => Promise<T>,
  runtime: Runtime,
): Promise<T> {
  const endsAt = performance.now() + options.waitMs
  let pause = pollMs.least
  for (;;) {
    const answer = await options.instead?.()
    if (answer !== undefined) return answer
    const turn = await take()
    if (turn !== undefined) {
      try {
        return await work(turn)
      } finally {
        await turn.release()
      }
    }
    const left = endsAt - performance.now()
    if (left <= 0) {
      throw new CredentialError('busy', `Another Drawbridge has been holding the lock ${name} for too long.`)
    }
    await runtime.sleep(Math.min(pause, left))
    pause = Math.min(pause * 1.5, pollMs.most)
  }
}

/** Turns among those who share one process. */
export function createLocalTurns(): (name: string) => Turn | undefined {
  const held = new Set<string>()
  return (name) => {
    if (held.has(name)) return undefined
    held.add(name)
    return {
      isHeld: () => true,
      release: async () => {
        held.delete(name)
      },
    }
  }
}
