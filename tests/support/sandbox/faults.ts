import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../../../server/sandbox/provider/auth-error.ts'

/** Simulated production faults; each call of `setFaults` replaces all of them. */
export interface ProviderFaults {
  /** Delay before every response. */
  latencyMs?: number
  /**
   * Answers the next `count` requests (limited to paths that end in `path`, if given) with this status and an HTML
   * body.
   */
  failNext?: { status: number; count: number; path?: string }
  /** Commits the next `count` refreshes, then breaks the connection: `fetch` rejects. */
  dropReplyAfterRotation?: number
  /** Answers `/token` with 429, without `Retry-After`. */
  limitTokens?: boolean
}

/** The active faults. */
export interface Faults {
  set(faults: ProviderFaults): void
  /** Waits, and returns a replacement for the real response, if any. */
  before(path: string): Promise<Response | undefined>
  /** Throws the error of a broken connection. */
  afterRotation(): void
  /** Throws `over_request_rate_limit`. */
  checkRate(): void
}

/** Creates an empty set of faults. */
export function createFaults(runtime: Runtime): Faults {
  let faults: ProviderFaults = {}
  let failuresLeft = 0
  let dropsLeft = 0

  return {
    set(next) {
      faults = next
      failuresLeft = next.failNext?.count ?? 0
      dropsLeft = next.dropReplyAfterRotation ?? 0
    },
    async before(path) {
      const { latencyMs = 0, failNext } = faults
      if (latencyMs > 0) await runtime.sleep(latencyMs)
      if (failNext === undefined || failuresLeft === 0 || !path.endsWith(failNext.path ?? ''))
        return undefined
      failuresLeft--
      // Gateways in front of the real API answer with pages, not JSON.
      return new Response('<!doctype html><title>Gateway error</title>', {
        status: failNext.status,
        headers: { 'content-type': 'text/html; charset=utf-8' },
      })
    },
    afterRotation() {
      if (dropsLeft === 0) return
      dropsLeft--
      throw new TypeError('fetch failed', { cause: new Error('connection dropped by the test') })
    },
    checkRate() {
      if (faults.limitTokens) {
        throw new AuthError(429, 'over_request_rate_limit', 'Request rate limit reached')
      }
    },
  }
}
