import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { FetchQuery, GuardedFetch } from './client-fetch.ts'

/** How much is fetched for clients, by one process. */
export interface FetchLimits {
  /** At the same moment. */
  concurrent: number
  perMinute: number
  /** To one host. */
  perHostPerMinute: number
}

// Enough for thousands of people signing in; far below what anybody would notice as an attack.
const usualFetchLimits: FetchLimits = { concurrent: 16, perMinute: 240, perHostPerMinute: 30 }

/** A fetch for a client. `known`: somebody signed in with it before. */
export interface LimitedFetchQuery extends FetchQuery {
  known: boolean
}

/** {@link GuardedFetch} within limits. */
export type LimitedFetch = (query: LimitedFetchQuery) => ReturnType<GuardedFetch>

interface Minute {
  endsAt: number
  total: number
  hosts: Map<string, number>
}

/**
 * Keeps strangers from using this server to flood somebody else: anybody may name any URL as a client id, without signing
 * in. What is over a limit fails with `too_many_fetches` at once.
 *
 * Known and unknown clients are counted apart, so that a flood of new ids does not stop the clients people use.
 */
export function limitFetches(
  fetch: GuardedFetch,
  runtime: Pick<Runtime, 'now'>,
  limits: FetchLimits = usualFetchLimits,
): LimitedFetch {
  const known = createLimit(limits, runtime)
  const unknown = createLimit(limits, runtime)
  return async ({ known: isKnown, ...query }) => {
    const limit = isKnown ? known : unknown
    if (!limit.enter(new URL(query.url).hostname)) return { kind: 'failed', reason: 'too_many_fetches' }
    try {
      return await fetch(query)
    } finally {
      limit.leave()
    }
  }
}

function createLimit(
  limits: FetchLimits,
  runtime: Pick<Runtime, 'now'>,
): { enter(host: string): boolean; leave(): void } {
  let running = 0
  let minute: Minute = { endsAt: 0, total: 0, hosts: new Map() }
  return {
    enter(host) {
      const now = runtime.now()
      if (now >= minute.endsAt) minute = { endsAt: now + 60, total: 0, hosts: new Map() }
      const atHost = minute.hosts.get(host) ?? 0
      if (running >= limits.concurrent || minute.total >= limits.perMinute) return false
      if (atHost >= limits.perHostPerMinute) return false
      running += 1
      minute.total += 1
      minute.hosts.set(host, atHost + 1)
      return true
    },
    leave() {
      running -= 1
    },
  }
}
