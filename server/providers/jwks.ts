import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CryptoKey, importJWK, type JWK } from 'jose'
import { ProviderError } from '../core/session/session-provider.ts'
import { fetchFromProvider } from './provider-response.ts'

const freshSeconds = 600
const refetchPauseSeconds = 30
/** For the provider's own new tokens: as rare as sign-ins, which are limited. */
const shortRefetchPauseSeconds = 1
const staleSeconds = 24 * 3600
const maxKeys = 32

/** Verification keys of the provider, by `kid` and algorithm. */
export interface KeySet {
  /**
   * Rejects with {@link UnknownKeyError}. `isFromProvider`: the provider itself issued the token just now, so an unknown key
   * justifies a fetch at once.
   */
  find(kid: string | undefined, algorithm: string, isFromProvider?: boolean): Promise<CryptoKey>
}

/**
 * The key is not in the cached set: `invalid_token`, or `transient` if the set cannot be read. It may still be a new one: caches in
 * front of a key set serve an old version for minutes, and the set is not fetched for each token.
 */
export class UnknownKeyError extends ProviderError {}

/**
 * Creates the key set at `url` (RFC 7517), cached for ten minutes. An unknown `kid` fetches again at most every 30 seconds, or
 * every second when the token came from the provider itself. If fetching fails, the last keys are used for up to a day, and an
 * unknown key is `transient`, as it may be a new one. A key that is no longer published stops verifying.
 */
export function createKeySet(url: string, runtime: Pick<Runtime, 'now' | 'fetch'>): KeySet {
  let snapshot: { keys: Map<string, CryptoKey>; fetchedAt: number } | undefined
  let lastTryAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined
  let failure: ProviderError | undefined

  /** Never rejects: the result is in `snapshot` and `failure`. */
  async function fetchSnapshot(): Promise<void> {
    try {
      snapshot = { keys: await fetchKeys(url, runtime), fetchedAt: runtime.now() }
      failure = undefined
    } catch (cause) {
      const message = 'The key set of the session provider cannot be read.'
      failure = new UnknownKeyError('transient', message, { cause })
    } finally {
      lastTryAt = runtime.now()
      loading = undefined
    }
  }

  function keysWithin(seconds: number): Map<string, CryptoKey> | undefined {
    return snapshot && runtime.now() - snapshot.fetchedAt < seconds ? snapshot.keys : undefined
  }

  return {
    async find(kid, algorithm, isFromProvider = false) {
      const name = `${kid ?? ''} ${algorithm}`
      const fresh = keysWithin(freshSeconds)?.get(name)
      if (fresh) return fresh
      const pauseSeconds = isFromProvider ? shortRefetchPauseSeconds : refetchPauseSeconds
      if (snapshot === undefined || runtime.now() - lastTryAt >= pauseSeconds) {
        await (loading ??= fetchSnapshot())
      }
      const found = keysWithin(staleSeconds)?.get(name)
      if (found) return found
      const message = 'The token names a key the provider does not publish.'
      throw failure ?? new UnknownKeyError('invalid_token', message)
    },
  }
}

async function fetchKeys(url: string, runtime: Pick<Runtime, 'fetch'>): Promise<Map<string, CryptoKey>> {
  const request = new Request(url, { headers: { accept: 'application/json' }, redirect: 'error' })
  const response = await fetchFromProvider(request, runtime)
  if (!response.ok) throw new TypeError(`The key set answered ${response.status}.`)
  const body = parseJsonObject(await response.text())
  if (!Array.isArray(body?.['keys'])) throw new TypeError('The key set has no `keys` member.')
  const imported = await Promise.all(body['keys'].slice(0, maxKeys).flatMap(importKey))
  return new Map(imported.filter((entry) => entry !== undefined))
}

/** Imports a key for each algorithm it may be used with. RFC 7517 section 5: an unusable key is ignored, not the set. */
function importKey(given: unknown): Promise<[name: string, key: CryptoKey] | undefined>[] {
  if (typeof given !== 'object' || given === null) return []
  const jwk = given as JWK
  return algorithmsOf(jwk).map(async (algorithm): Promise<[string, CryptoKey] | undefined> => {
    try {
      const key = (await importJWK(jwk, algorithm)) as CryptoKey
      return key.type === 'public' ? [`${jwk.kid ?? ''} ${algorithm}`, key] : undefined
    } catch {
      return undefined
    }
  })
}

// Only asymmetric keys count: a symmetric key in a public document would let anyone sign.
const algorithmsOfKind: ReadonlyMap<string, readonly string[]> = new Map([
  ['EC P-256', ['ES256']],
  ['EC P-384', ['ES384']],
  ['EC P-521', ['ES512']],
  ['OKP Ed25519', ['EdDSA', 'Ed25519']],
  ['RSA', ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
])

/** Algorithms of the keys that a provider publishes; all signatures with another one are refused. */
export const signatureAlgorithms: string[] = [...algorithmsOfKind.values()].flat()

/** Returns the algorithms that a public key may be used with; none for one that verifies no signatures. */
export function algorithmsOf({ kty, crv, alg, use }: Partial<JWK>): readonly string[] {
  if (use !== undefined && use !== 'sig') return []
  const algorithms = algorithmsOfKind.get(kty === 'RSA' ? kty : `${kty} ${crv}`) ?? []
  // RFC 9864: both names mean the same for this curve.
  if (alg === undefined || (crv === 'Ed25519' && algorithms.includes(alg))) return algorithms
  return algorithms.filter((algorithm) => algorithm === alg)
}
