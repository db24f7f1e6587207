import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CredentialError, type Lease } from '../credential-store.ts'

const pollMs = { least: 50, most: 250 }

/** Something held alone, until it is given back. */
export interface Lock extends Lease {
  release(): Promise<void>
}

/** What came of asking for a lock: it, or the lease of who has it, if that one was seen to live. */
export type LockAttempt = { lock: Lock } | { heldBy: string | undefined }

/** How long to wait for a lock, and what makes it needless. */
export interface LockOptions<T> {
  waitMs: number
  instead?: ((heldBy: string | undefined) => Promise<T | undefined>) | undefined
}

/**
 * Runs `work` once `take` answers a lock, asking it again and again. `instead` is asked before every attempt, and its answer
 * is the answer of all. Rejects with {@link CredentialError} `busy` after `waitMs`, and with what `instead` rejects with.
 */
export async function withLock<T>(
  name: string,
  options: LockOptions<T>,
  take: () => Promise<LockAttempt>,
  work: (lease: Lease) => Promise<T>,
  runtime: Runtime,
): Promise<T> {
  const endsAt = performance.now() + options.waitMs
  let pause = pollMs.least
  let heldBy: string | undefined
  for (;;) {
    const answer = await options.instead?.(heldBy)
    if (answer !== undefined) return answer
    const taken = await take()
    if ('lock' in taken) {
      try {
        return await work(taken.lock)
      } finally {
        await taken.lock.release()
      }
    }
    heldBy = taken.heldBy
    const left = endsAt - performance.now()
    if (left <= 0) {
      throw new CredentialError('busy', `Another Drawbridge has been holding the lock ${name} for too long.`)
    }
    await runtime.sleep(Math.min(pause, left))
    pause = Math.min(pause * 1.5, pollMs.most)
  }
}

/** Turns among those who share one process. */
export function createLocalLocks(): (name: string) => LockAttempt {
  const held = new Map<string, string>()
  let count = 0
  return (name) => {
    const heldBy = held.get(name)
    if (heldBy !== undefined) return { heldBy }
    count += 1
    const id = String(count)
    held.set(name, id)
    return {
      lock: {
        id,
        isHeld: () => held.get(name) === id,
        release: async () => {
          held.delete(name)
        },
      },
    }
  }
}
