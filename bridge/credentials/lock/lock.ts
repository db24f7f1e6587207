import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CredentialError, type CredentialStore } from '../credential-store.ts'

const firstPauseMs = 50
const maxPauseMs = 250

/** A lock that was taken, or the lease of its owner if that is known to be alive. */
export type LockAttempt =
  | { kind: 'taken'; lease: string; release(): void }
  | { kind: 'held'; heldBy: string | undefined }

/** Creates {@link CredentialStore.exclusively} on top of `opener`, which returns a function that tries to take one lock. */
export function createLock(
  opener: (name: string) => () => LockAttempt,
  runtime: Pick<Runtime, 'sleep'>,
): CredentialStore['exclusively'] {
  return async (name, { waitMs, instead }, work) => {
    const take = opener(name)
    const endsAt = performance.now() + waitMs
    let pauseMs = firstPauseMs
    let heldBy: string | undefined
    for (;;) {
      const answer = await instead?.(heldBy)
      if (answer !== undefined) return answer
      const attempt = take()
      if (attempt.kind === 'taken') {
        try {
          return await work(attempt.lease)
        } finally {
          attempt.release()
        }
      }
      heldBy = attempt.heldBy
      const leftMs = endsAt - performance.now()
      if (leftMs <= 0) {
        throw new CredentialError(
          'busy',
          `Another Drawbridge has been holding the lock ${name} for too long.`,
        )
      }
      await runtime.sleep(Math.min(pauseMs, leftMs))
      pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)
    }
  }
}
