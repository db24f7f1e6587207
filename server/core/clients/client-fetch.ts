import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { addressBlocks } from '../address-block.ts'
import type { AttemptSource } from '../limits/attempt-limit.ts'
import {
  blockMax,
  clientFetches,
  type FetchBudget,
  type FetchLimits,
  siteMax,
  strangersShare,
} from '../limits/limit-table.ts'

/** Why a client's document could not be fetched; for the log and the error page. */
export type FetchFailure =
  | 'forbidden_url'
  | 'forbidden_address'
  | 'unknown_host'
  | 'unreachable'
  | 'too_slow'
  | 'redirected'
  | 'not_found'
  | 'refused'
  | 'wrong_type'
  | 'too_large'
  | 'too_many_fetches'
  | 'too_many_of_address'

/** Result of fetching a document. Headers are the host's, unchecked. */
export type FetchOutcome =
  | { kind: 'fetched'; text: string; headers: Headers }
  | { kind: 'not_modified'; headers: Headers }
  | { kind: 'failed'; reason: FetchFailure }

/** One document to fetch; with `etag` only if it has changed since. */
export interface FetchQuery {
  url: string
  maxBytes: number
  etag?: string | undefined
}

/**
 * Fetches a public JSON document from a URL that a stranger chose; never reaches addresses inside our own network. Does not reject:
 * every error becomes a {@link FetchFailure}.
 */
export type GuardedFetch = (query: FetchQuery) => Promise<FetchOutcome>

/** Why a document is not there: our own limits, the network, or an unusable response. Other failures may pass. */
type FailureKind = 'own_limit' | 'network' | 'faulty_response' | 'other'

interface FailureDescription {
  kind: FailureKind
  /**
   * Completes the sentence "Its document could not be fetched: ...". Shown to strangers, so internal names read like unresolvable
   * ones: otherwise they could probe for internal names. The log has the difference.
   */
  text: string
}

const noPublicAddress = 'its host has no address on the public internet.'

/** Describes every {@link FetchFailure}. */
export const fetchFailures: Readonly<Record<FetchFailure, FailureDescription>> = {
  forbidden_url: { kind: 'other', text: 'documents are not fetched from this address.' },
  forbidden_address: { kind: 'network', text: noPublicAddress },
  unknown_host: { kind: 'network', text: noPublicAddress },
  unreachable: { kind: 'network', text: 'the host cannot be reached.' },
  too_slow: { kind: 'network', text: 'the host responds too slowly.' },
  redirected: { kind: 'faulty_response', text: 'the host redirects to another address.' },
  not_found: { kind: 'faulty_response', text: 'the host has no such document.' },
  refused: { kind: 'other', text: 'the host refuses access to it.' },
  wrong_type: { kind: 'faulty_response', text: "the host's response is not JSON." },
  too_large: { kind: 'faulty_response', text: "the host's response is too large." },
  too_many_fetches: { kind: 'own_limit', text: 'too many documents are being fetched right now.' },
  too_many_of_address: {
    kind: 'own_limit',
    text: 'too many documents are being fetched for requests from your address.',
  },
}

const anybody: AttemptSource = { address: undefined, known: false }

/** A fetch for a client, and its source. `known`: a user has signed in with the client before. */
export interface LimitedFetchQuery extends FetchQuery {
  known: boolean
  source?: AttemptSource | undefined
}

/** {@link GuardedFetch} within limits. */
export type LimitedFetch = (query: LimitedFetchQuery) => ReturnType<GuardedFetch>

/**
 * Keeps strangers from using this server to flood a third party: a client id can name any URL, without signing in. A fetch over a
 * limit fails at once: with `too_many_of_address` over the share of the requesting address (for IPv6 its /64, /56 and /48), with
 * `too_many_fetches` over the total limit, a third of which is reserved for browsers that have signed in before.
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

/** The counters one fetch uses. */
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
