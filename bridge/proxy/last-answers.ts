import type { InFlight } from './in-flight.ts'
import { isSubscription } from './listen-filter.ts'

/**
 * The time that calls have left when the client has said its last word: a script that writes its requests and closes its end
 * still reads the answers.
 */
export interface LastAnswers {
  /** Resolves when every call has its answer, when that took too long, or with {@link LastAnswers.giveUp}. */
  all(): Promise<void>
  /** To be called for each call that has its answer. */
  answered(): void
  giveUp(): void
}

/** Subscriptions are not waited for. */
export function createLastAnswers(inFlight: InFlight, mostMs: number): LastAnswers {
  let finish: (() => void) | undefined

  function isComplete(): boolean {
    for (const call of inFlight.calls()) if (!isSubscription(call)) return false
    return true
  }

  return {
    all() {
      if (isComplete()) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, mostMs)
        finish = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    },
    answered() {
      if (finish !== undefined && isComplete()) finish()
    },
    giveUp() {
      finish?.()
    },
  }
}
