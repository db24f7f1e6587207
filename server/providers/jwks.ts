import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CryptoKey, importJWK, type JWK } from 'jose'
import { ProviderError } from '../core/session/session-provider.ts'
import { fetchFromProvider } from './response.ts'

const freshSeconds = 600
const refetchPauseSeconds = 30
/** For the provider's own new tokens: as rare as sign-ins, which are limited. */
const shortRefetchPauseSeconds = 1
const staleSeconds = 24 * 3600
const maxKeys = 32

/** Verification keys of the provider, by `kid` and algorithm. */
export interface KeySet {
  /**
   * Rejects with `invalid_token` for a key the provider does not publish, `transient` when it cannot be asked. `isFromProvider`:
   * the provider itself issued the token just now, so an unknown key justifies a fetch at once.
   */
  find(kid: string | undefined, algorithm: string, isFromProvider?: boolean): Promise<CryptoKey>
}

interface Snapshot {
  keys: Map<string, CryptoKey>
  fetchedAt: number
}

/**
 * Creates the key set at `url` (RFC 7517), cached for ten minutes. An unknown `kid` fetches again at most every 30 seconds, or
 * every second when the token came from the provider itself. If fetching fails, the last keys are used for up to a day, and an
 * unknown key is `transient`, as it may be a new one. A key that is no longer published stops verifying.
 */
export function createKeySet(url: string, runtime: Pick<Runtime, 'now' | 'fetch'>): KeySet {
  let snapshot: Snapshot | undefined
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
      failure = new ProviderError('transient', message, { cause })
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
      throw failure ?? new ProviderError('invalid_token', message)
    },
  }
}

async function fetchKeys(url: string, runtime: Pick<Runtime, 'fetch'>): Promise<Map<string, CryptoKey>> {
  const request = new Request(url, { headers: { accept: 'application/json' }, redirect: 'error' })
  const response = await fetchFromProvider(request, runtime)
  if (!response.ok) throw new TypeError(`The key set answered ${response.status}.`)
  const body = parseJsonObject(await response.text())
  if (!Array.isArray(body?.['keys'])) throw new TypeError('The key set has no `keys` member.')
  const imported = await Promise.all(body['keys'].slice(0, maxKeys).map(importKey))
  return new Map(imported.filter((entry) => entry !== undefined))
}

/** Returns undefined for an unusable key: RFC 7517 section 5 says to ignore it, not the set. */
async function importKey(given: unknown): Promise<[name: string, key: CryptoKey] | undefined> {
  if (typeof given !== 'object' || given === null) return undefined
  const jwk = given as JWK
  const algorithm = algorithmOf(jwk)
  if (!algorithm) return undefined
  try {
    const key = (await importJWK(jwk, algorithm)) as CryptoKey
    return key.type === 'public' ? [`${jwk.kid ?? ''} ${algorithm}`, key] : undefined
  } catch {
    return undefined
  }
}

// Only asymmetric keys count: a symmetric key in a public document would let anyone sign.
function algorithmOf(jwk: JWK): 'ES256' | 'RS256' | undefined {
  if (jwk.use !== undefined && jwk.use !== 'sig') return undefined
  if (jwk.kty === 'EC' && jwk.crv === 'P-256') return 'ES256'
  return jwk.kty === 'RSA' && (jwk.alg === undefined || jwk.alg === 'RS256') ? 'RS256' : undefined
}
