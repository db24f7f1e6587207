import type { Endpoint } from '../endpoint.ts'
import { createEndpointFinder, type FetchHandler } from '../app.ts'

/** Who counts requests. */
export interface RequestObserver {
  requestStarted(): void
  /** `endpoint` is a path of the table, `*` standing for what follows a prefix, or `other`. */
  requestEnded(endpoint: string, status: number, seconds: number): void
}

/**
 * `fetch`, with `observer` told of every request. Only paths of `endpoints` are named, so nobody can make names up. The
 * time ends when the answer begins: what a stream takes is not in it. `nowMs` never goes back.
 */
export function observeRequests(
  fetch: FetchHandler,
  endpoints: readonly Endpoint[],
  observer: RequestObserver,
  nowMs: () => number = () => performance.now(),
): FetchHandler {
  const find = createEndpointFinder(endpoints)
  return async (request, peer) => {
    const began = nowMs()
    observer.requestStarted()
    let status = 500
    try {
      const response = await fetch(request, peer)
      status = response.status
      return response
    } finally {
      const endpoint = find(new URL(request.url).pathname)
      observer.requestEnded(nameOf(endpoint), status, (nowMs() - began) / 1000)
    }
  }
}

function nameOf(endpoint: Endpoint | undefined): string {
  if (!endpoint) return 'other'
  return endpoint.prefix ? `${endpoint.path}*` : endpoint.path
}
