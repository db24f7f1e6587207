import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { addressBlocks } from '../address-block.ts'
import type { AttemptSource } from '../access/attempt-limit.ts'
import {
  blockMax,
  clientFetches,
  type FetchBudget,
  type FetchLimits,
  siteMax,
  strangersShare,
} from '../access/limit-table.ts'
import type { FetchFailure, FetchQuery, GuardedFetch } from './client-fetch.ts'

const anybody: AttemptSource = { address: undefined, known: false }

/** A fetch for a client, and its source. `known`: a user has signed in with the client before. */
export interface LimitedFetchQuery extends FetchQuery {
  known: boolean
  source?: AttemptSource | undefined
}

/** {@link GuardedFetch} within limits. */
export type LimitedFetch = (query: LimitedFetchQuery) => ReturnType<GuardedFetch>

/**
 * Keeps strangers from using this server to flood a third party: anybody may name any URL as a client id, without
 * signing in. A fetch over a limit fails at once: with `too_many_of_address` over the share of the requesting address
 * (for IPv6 its /64, /56 and /48), with `too_many_fetches` over the limit for everybody, a third of which is reserved
 * for browsers that have signed in before.
 *
 * Clients in use are counted separately, so a flood of new ids does not affect them.
 */
export function limitFetches(
  fetch: GuardedFetch,
  runtime: Pick<Runtime, 'now'>,
  limits: FetchLimits = clientFetches,
): LimitedFetch {
  const inUse = createFetchCount(runtime)
  const others = createFetchCount(runtime)
  return async ({ known, source = anybody, ...query }) => {
    const { hostname } = new URL(query.url)
    const count = known ? inUse : others
    const shares = known ? [everyoneShare(limits, true)] : sharesOf(source, limits)
    const full = shares.find(({ name, budget }) => !count.hasRoom(name, hostname, budget))
    if (full) return { kind: 'failed', reason: full.reason }
    for (const { name } of shares) count.enter(name, hostname)
    try {
      return await fetch(query)
    } finally {
      for (const { name } of shares) count.leave(name)
    }
  }
}

/** What one fetch counts for. */
interface Share {
  name: string
  budget: FetchBudget
  reason: Extract<FetchFailure, 'too_many_of_address' | 'too_many_fetches'>
}

function sharesOf({ address, known }: AttemptSource, limits: FetchLimits): Share[] {
  const blocks = address === undefined ? [] : addressBlocks(address)
  return [
    ...blocks.map(({ name, factor }) => ({
      name,
      budget: scaled(limits, (ofAddress, ofEveryone) => blockMax(ofAddress, factor, siteMax(ofEveryone))),
      reason: 'too_many_of_address' as const,
    })),
    everyoneShare(limits, known),
  ]
}

function everyoneShare(limits: FetchLimits, known: boolean): Share {
  const budget = scaled(limits, (_ofAddress, all) => (known ? all : strangersShare(all)))
  return { name: 'everyone', budget, reason: 'too_many_fetches' }
}

function scaled(
  { perAddress, everyone }: FetchLimits,
  amount: (ofAddress: number, ofEveryone: number) => number,
): FetchBudget {
  return {
    concurrent: amount(perAddress.concurrent, everyone.concurrent),
    perMinute: amount(perAddress.perMinute, everyone.perMinute),
    perHostPerMinute: amount(perAddress.perHostPerMinute, everyone.perHostPerMinute),
  }
}

/** Counts fetches by name, in windows of a minute. Refused fetches are not counted, so they take no memory. */
function createFetchCount(runtime: Pick<Runtime, 'now'>) {
  const running = new Map<string, number>()
  let minute = { endsAt: 0, counts: new Map<string, number>() }
  const add = (counts: Map<string, number>, key: string, change: number): void => {
    const count = (counts.get(key) ?? 0) + change
    if (count === 0) counts.delete(key)
    else counts.set(key, count)
  }
  const hostKey = (name: string, host: string): string => `${name} at ${host}`
  const countOf = (counts: Map<string, number>, key: string): number => counts.get(key) ?? 0
  return {
    hasRoom(name: string, host: string, budget: FetchBudget): boolean {
      const now = runtime.now()
      if (now >= minute.endsAt) minute = { endsAt: now + 60, counts: new Map() }
      return (
        countOf(running, name) < budget.concurrent &&
        countOf(minute.counts, name) < budget.perMinute &&
        countOf(minute.counts, hostKey(name, host)) < budget.perHostPerMinute
      )
    },
    enter(name: string, host: string): void {
      add(running, name, 1)
      add(minute.counts, name, 1)
      add(minute.counts, hostKey(name, host), 1)
    },
    leave: (name: string): void => add(running, name, -1),
  }
}
