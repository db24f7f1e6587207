import { parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { AttemptSource } from '../limits/attempt-limit.ts'
import { fetchFailures, type LimitedFetch } from './client-fetch.ts'
import { publicKeysOf } from './client-metadata.ts'
import { ClientUnavailableError } from './client.ts'

const freshSeconds = 600
const staleSeconds = 24 * 3600
const refetchPauseSeconds = 30
const maxBytes = 64 * 1024
const maxKeySets = 1000

interface ClientKeyQuery {
  uri: string
  /** Key id. If it is unknown, the keys may be fetched again. */
  kid: string | undefined
  /** The client is in use: its keys are fetched however many unknown clients request theirs. */
  known: boolean
  source?: AttemptSource
}

/** Rejects with `ClientUnavailableError` if the keys cannot be fetched and no recent ones are cached. */
export type FetchClientKeys = (query: ClientKeyQuery) => Promise<readonly JsonObject[]>

interface KeySet {
  keys?: readonly JsonObject[]
  fetchedAt: number
  triedAt: number
  failure: string
  faulty: boolean
  loading?: Promise<void> | undefined
}

/**
 * Caches keys for ten minutes. An unknown `kid` causes at most one fetch every 30 seconds; in between it is unavailable, as it may be
 * a new one. If fetching fails, the last keys are used for up to a day; a key that is no longer published proves nothing.
 */
export function createClientKeySource(ports: {
  fetch: LimitedFetch
  runtime: Pick<Runtime, 'now'>
}): FetchClientKeys {
  const { fetch, runtime } = ports
  const sets = new BoundedMap<KeySet>(maxKeySets)

  async function load({ uri, known, source }: ClientKeyQuery, set: KeySet): Promise<void> {
    set.triedAt = runtime.now()
    const outcome = await fetch({ url: uri, maxBytes, known, source })
    if (outcome.kind === 'fetched') {
      const keys = publicKeysOf(parseJsonObject(outcome.text))
      if (keys) {
        set.keys = keys
        set.fetchedAt = runtime.now()
        set.failure = ''
        set.faulty = false
        return
      }
    }
    const failure =
      outcome.kind === 'failed'
        ? fetchFailures[outcome.reason]
        : { kind: 'faulty_response', text: "the host's response is not a set of public keys." }
    set.faulty = failure.kind === 'faulty_response'
    set.failure = failure.text
    // Our own limit says nothing about the host: the next requester need not wait.
    if (failure.kind === 'own_limit') set.triedAt = -Infinity
  }

  return async (query) => {
    const { uri, kid } = query
    const set = sets.get(uri) ?? { fetchedAt: -Infinity, triedAt: -Infinity, failure: '', faulty: false }
    sets.set(uri, set)
    const age = (): number => runtime.now() - set.fetchedAt
    const isPaused = runtime.now() - set.triedAt < refetchPauseSeconds
    const asks = !(hasKey(set, kid) && age() < freshSeconds) && (set.loading !== undefined || !isPaused)
    if (asks) {
      set.loading ??= load(query, set).finally(() => (set.loading = undefined))
      await set.loading
    }
    const isJudged = hasKey(set, kid) || (asks && set.failure === '')
    if (set.keys && age() < staleSeconds && isJudged) return set.keys
    throw unavailable(set, runtime.now())
  }
}

function hasKey({ keys = [] }: KeySet, kid: string | undefined): boolean {
  return kid === undefined || keys.some((key) => key['kid'] === kid)
}

function unavailable({ failure, faulty, triedAt }: KeySet, now: number): ClientUnavailableError {
  const reason = failure || 'an assertion names one that was not among them a moment ago.'
  return new ClientUnavailableError(
    `The keys of this client could not be fetched: ${reason} ${faulty ? 'Contact its developer.' : 'Try again in a minute.'}`,
    faulty ? 'faulty' : 'passing',
    { retryAfterSeconds: Math.max(1, triedAt + refetchPauseSeconds - now) },
  )
}
