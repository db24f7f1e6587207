/** Why a document of a client could not be fetched; for the log and for the page that people see. */
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

/** The outcome of fetching a document. Headers are the host's, unchecked. */
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
 * Fetches a public JSON document from a URL that a stranger chose, and never reaches anything inside the own network. Does
 * not reject: whatever goes wrong is a {@link FetchFailure}.
 */
export type GuardedFetch = (query: FetchQuery) => Promise<FetchOutcome>

/**
 * The sentence that ends "Its document could not be fetched: ...", per failure. Strangers read it, so a name that leads inside
 * reads like one that leads nowhere: otherwise they could ask which names there are inside. The log has the difference.
 */
export const fetchFailureText: Readonly<Record<FetchFailure, string>> = {
  forbidden_url: 'the address is not one that documents are fetched from.',
  forbidden_address: 'its host has no address on the public internet.',
  unknown_host: 'its host has no address on the public internet.',
  unreachable: 'the host cannot be reached.',
  too_slow: 'the host answers too slowly.',
  redirected: 'the host redirects to another address.',
  not_found: 'the host has no such document.',
  refused: 'the host refuses to give it out.',
  wrong_type: 'what the host sends is no JSON.',
  too_large: 'what the host sends is too large.',
  too_many_fetches: 'too many documents are being fetched right now.',
  too_many_of_address: 'too many documents are being fetched for requests from your address.',
}

/** Whether nothing was asked of the host, because of our own limits: it says nothing about the document. */
export function isOwnLimit(reason: FetchFailure): boolean {
  return reason === 'too_many_fetches' || reason === 'too_many_of_address'
}

const networkFailures: ReadonlySet<FetchFailure> = new Set([
  'forbidden_address',
  'unknown_host',
  'unreachable',
  'too_slow',
])

/** Whether the host did not answer at all: a network without the internet looks like this. */
export function isNetworkFailure(reason: FetchFailure): boolean {
  return networkFailures.has(reason)
}

const faultyAnswers: ReadonlySet<FetchFailure> = new Set([
  'redirected',
  'not_found',
  'wrong_type',
  'too_large',
])

/** Whether a host was reached and answers wrongly: then waiting does not help, but telling those who run it. */
export function isFaultyAnswer(reason: FetchFailure): boolean {
  return faultyAnswers.has(reason)
}
