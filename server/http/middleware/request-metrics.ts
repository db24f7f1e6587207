import type { MiddlewareHandler } from 'hono'
import type { Endpoint, HttpEnv } from '../endpoint.ts'

/** Counts requests. */
export interface RequestObserver {
  requestStarted(): void
  /** `endpoint` is a path of the table, with `*` for what follows a prefix, or `other`. */
  requestEnded(endpoint: string, status: number, seconds: number): void
}

/**
 * Reports every request to `observer`. Only paths of the table are used, so clients cannot add names. The time ends when the
 * response begins: the duration of a stream is not included. `nowMs` must be monotonic.
 */
export function requestMetrics(
  observer: RequestObserver,
  nowMs: () => number = () => performance.now(),
): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const startedAt = nowMs()
    observer.requestStarted()
    try {
      await next()
    } finally {
      const status = c.finalized ? c.res.status : 500
      observer.requestEnded(nameOf(c.get('endpoint')), status, (nowMs() - startedAt) / 1000)
    }
  }
}

function nameOf(endpoint: Endpoint | undefined): string {
  if (!endpoint) return 'other'
  return endpoint.prefix ? `${endpoint.path}*` : endpoint.path
}
