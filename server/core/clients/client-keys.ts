import { parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { AttemptSource } from '../access/attempt-limit.ts'
import { fetchFailureText, isFaultyAnswer, isOwnLimit } from './client-fetch.ts'
import type { LimitedFetch } from './client-fetch-limit.ts'
import { publicKeysOf } from './client-metadata.ts'
import { ClientUnavailableError } from './client.ts'

const freshSeconds = 600
const staleSeconds = 24 * 3600
const refetchPauseSeconds = 30
const maxBytes = 64 * 1024
const maxKeySets = 1000

/** Which keys are wanted. */
export interface ClientKeyQuery {
  /** A `jwks_uri`. */
  uri: string
  /** The key id. If it is not among the known keys, they may be fetched again. */
  kid: string | undefined
  /** The client is in use, and its keys must be had however many strangers ask for theirs. */
  known: boolean
  source?: AttemptSource
}

/** The public keys of a client, cached. Rejects with `ClientUnavailableError` when they cannot be fetched and were not lately. */
export type FetchClientKeys = (query: ClientKeyQuery) => Promise<readonly JsonObject[]>

interface KeySet {
  keys: readonly JsonObject[] | undefined
  fetchedAt: number
  triedAt: number
  failure: string
  /** The host was reached and gives no keys. */
  faulty: boolean
  loading: Promise<void> | undefined
}

/**
 * {@link FetchClientKeys} with a cache of ten minutes. An unknown `kid` fetches again at most every 30 seconds. When
 * fetching fails the last keys serve for up to a day; a key that is no longer published stops proving anything.
 */
export function createClientKeySource(ports: {
  fetch: LimitedFetch
  runtime: Pick<Runtime, 'now'>
}): FetchClientKeys {
  const { fetch, runtime } = ports
  const sets = createBoundedMap<KeySet>(maxKeySets)

  async function load({ uri, known, source }: ClientKeyQuery, set: KeySet): Promise<void> {
    set.triedAt = runtime.now()
    const outcome = await fetch({ url: uri, maxBytes, known, source })
    if (outcome.kind === 'fetched') {
      const keys = publicKeysOf(parseJsonObject(outcome.text))
      if (keys) {
        set.keys = keys
        set.fetchedAt = runtime.now()
        return
      }
    }
    set.faulty = outcome.kind !== 'failed' || isFaultyAnswer(outcome.reason)
    // Our own limit says nothing about the host: the next one who asks need not wait.
    if (outcome.kind === 'failed' && isOwnLimit(outcome.reason)) set.triedAt = Number.NEGATIVE_INFINITY
    set.failure =
      outcome.kind === 'failed'
        ? fetchFailureText[outcome.reason]
        : 'what the host sends is no set of public keys.'
  }

  return async (query) => {
    const { uri, kid } = query
    const set: KeySet = sets.get(uri) ?? {
      keys: undefined,
      fetchedAt: Number.NEGATIVE_INFINITY,
      triedAt: Number.NEGATIVE_INFINITY,
      failure: '',
      faulty: false,
      loading: undefined,
    }
    sets.set(uri, set)
    const age = (): number => runtime.now() - set.fetchedAt
    const hasKey = kid === undefined || set.keys?.some((key) => key['kid'] === kid) === true
    const isPaused = runtime.now() - set.triedAt < refetchPauseSeconds
    if (!(hasKey && age() < freshSeconds) && (set.loading !== undefined || !isPaused)) {
      set.loading ??= load(query, set).finally(() => (set.loading = undefined))
      await set.loading
    }
    if (set.keys && age() < staleSeconds) return set.keys
    throw new ClientUnavailableError(
      `The keys of this client could not be fetched: ${set.failure} ${set.faulty ? 'Tell the people who make it.' : 'Try again in a minute.'}`,
      {
        faulty: set.faulty,
        retryAfterSeconds: Math.max(1, set.triedAt + refetchPauseSeconds - runtime.now()),
      },
    )
  }
}
