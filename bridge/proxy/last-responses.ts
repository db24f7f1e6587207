import type { PendingRequests } from './pending-requests.ts'
import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'

/**
 * The time that calls have left when the client has said its last word: a script that writes its requests and closes its end
 * still reads the answers.
 */
export interface LastResponses {
  /**
   * Resolves when every call has its answer, when that took too long, or with {@link LastResponses.giveUp}; with the time since
   * when the last word counts, of the monotonic clock.
   */
  all(): Promise<number>
  /** To be called for each call that has its answer. */
  answered(): void
  giveUp(): void
}

/**
 * Subscriptions are not waited for. While calls are kept back for which there is no room yet, each answer makes room, and the
 * time begins anew: a script may have more to ask than is under way at once. A server that does not answer ends that.
 */
export function createLastResponses(
  pendingRequests: PendingRequests,
  isKeeping: () => boolean,
  maxMs: number,
): LastResponses {
  let finish: (() => void) | undefined
  let begin = (): void => {}

  function isComplete(): boolean {
    if (isKeeping()) return false
    for (const call of pendingRequests.calls()) if (!isSubscription(call)) return false
    return true
  }

  return {
    all() {
      let since = performance.now()
      if (isComplete()) return Promise.resolve(since)
      return new Promise((resolve) => {
        const timer = setTimeout(() => resolve(since), maxMs)
        begin = () => {
          since = performance.now()
          timer.refresh()
        }
        finish = () => {
          clearTimeout(timer)
          resolve(since)
        }
      })
    },
    answered() {
      if (finish === undefined) return
      if (isKeeping()) begin()
      else if (isComplete()) finish()
    },
    giveUp() {
      finish?.()
    },
  }
}
