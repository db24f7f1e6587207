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
import { type Rate, SourceLimit, type SourceShare } from '../limits/rate-limit.ts'

/**
 * Why a client's document could not be fetched: our own limits, the network, or an unusable response; others may pass. `text` completes
 * the sentence "Its document could not be fetched: ...". It is shown to strangers, so internal names read like unresolvable ones:
 * otherwise they could probe for internal names. The log has the name of the failure.
 */
export const fetchFailures = {
  forbidden_url: { kind: 'other', text: 'documents are not fetched from this address.' },
  forbidden_address: {
    kind: 'network',
    text: 'its host was not found on the public internet. Is this server online?',
  },
  unknown_host: {
    kind: 'network',
    text: 'its host was not found on the public internet. Is this server online?',
  },
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
} as const

export type FetchFailure = keyof typeof fetchFailures

/** Result of fetching a document. Headers are the host's, unchecked. */
export type FetchOutcome =
  | { kind: 'fetched'; text: string; headers: Headers }
  | { kind: 'failed'; reason: FetchFailure }

export interface FetchQuery {
  url: string
  maxBytes: number
}

/** Fetches a public JSON document from a URL that a stranger chose, never from inside our own network. Does not reject. */
export type GuardedFetch = (query: FetchQuery) => Promise<FetchOutcome>

const unknownSource: AttemptSource = { address: undefined, known: false }

/** A fetch for a client, and its source. `known`: a user has signed in with the client before. */
export interface LimitedFetchQuery extends FetchQuery {
  known: boolean
  source?: AttemptSource | undefined
}

export type LimitedFetch = (query: LimitedFetchQuery) => ReturnType<GuardedFetch>

/**
 * Keeps strangers from using this server to flood a third party: a client id can name any URL. A fetch over a limit fails at
 * once: with `too_many_of_address` over the share of the requesting address, with `too_many_fetches` over the total, a third of
 * which is reserved for known browsers. Clients in use are counted separately: a flood of new ids does not affect them.
 */
export function limitFetches(
  fetch: GuardedFetch,
  runtime: Pick<Runtime, 'now'>,
  limits: FetchLimits = clientFetches,
): LimitedFetch {
  const inUse = new SourceLimit(runtime)
  const others = new SourceLimit(runtime)
  return async ({ known, source = unknownSource, ...query }) => {
    const { hostname } = new URL(query.url)
    const admission = known
      ? inUse.enter(everyoneShares(hostname, limits, true))
      : others.enter([
          ...addressShares(source, hostname, limits),
          ...everyoneShares(hostname, limits, source.known),
        ])
    if (admission.kind === 'refused') {
      const isShared = admission.key.startsWith(everyone)
      return { kind: 'failed', reason: isShared ? 'too_many_fetches' : 'too_many_of_address' }
    }
    try {
      return await fetch(query)
    } finally {
      admission.leave()
    }
  }
}

const everyone = 'everyone'

/** Unknown visitors may use two thirds. */
function everyoneShares(host: string, { everyone: all }: FetchLimits, known: boolean): SourceShare[] {
  const shares = sharesOf(everyone, host, (kind) => all[kind])
  return known
    ? shares
    : [...sharesOf(`${everyone} unknown`, host, (kind) => strangersShare(all[kind])), ...shares]
}

function addressShares(
  { address }: AttemptSource,
  host: string,
  { perAddress, everyone: all }: FetchLimits,
): SourceShare[] {
  const blocks = address === undefined ? [] : addressBlocks(address)
  return blocks.flatMap(({ name, factor }) =>
    sharesOf(name, host, (kind) => blockMax(perAddress[kind], factor, siteMax(all[kind]))),
  )
}

/** The shares of `name`: of all fetches, and of those from `host`. */
function sharesOf(name: string, host: string, max: (kind: keyof FetchBudget) => number): SourceShare[] {
  return [
    { key: name, rate: perMinute(max('perMinute')), atOnce: max('concurrent') },
    { key: `${name} at ${host}`, rate: perMinute(max('perHostPerMinute')) },
  ]
}

function perMinute(burst: number): Rate {
  return { burst, perSecond: burst / 60 }
}
