import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CryptoKey, importJWK, type JWK } from 'jose'
import { ProviderError } from '../core/session-provider.ts'

const freshSeconds = 600
const refetchPauseSeconds = 30
const staleSeconds = 24 * 3600
const maxKeys = 32

/** Verification keys of the provider, by `kid` and algorithm. */
export interface KeySet {
  /** Rejects with `invalid_token` for a key the provider does not publish, `transient` when it cannot be asked. */
  find(kid: string | undefined, algorithm: string): Promise<CryptoKey>
}

interface Snapshot {
  keys: Map<string, CryptoKey>
  fetchedAt: number
}

/**
 * The keys under `url` (RFC 7517), cached for ten minutes. An unknown `kid` fetches again at most every 30 seconds; when
 * fetching fails the last keys serve for up to a day. A key that is no longer published stops verifying.
 */
export function createKeySet(url: string, runtime: Pick<Runtime, 'now' | 'fetch'>): KeySet {
  let snapshot: Snapshot | undefined
  let lastTryAt = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | undefined

  function load(): Promise<void> {
    loading ??= fetchKeys(url, runtime)
      .then((keys) => {
        snapshot = { keys, fetchedAt: runtime.now() }
      })
      .finally(() => {
        lastTryAt = runtime.now()
        loading = undefined
      })
    return loading
  }

  return {
    async find(kid, algorithm) {
      const name = `${kid ?? ''} ${algorithm}`
      const now = runtime.now()
      const fresh = snapshot !== undefined && now - snapshot.fetchedAt < freshSeconds
      const known = snapshot?.keys.get(name)
      if (fresh && known) return known
      if (now - lastTryAt >= refetchPauseSeconds || snapshot === undefined) {
        await load().catch((error: unknown) => {
          if (snapshot === undefined || now - snapshot.fetchedAt > staleSeconds) throw error
        })
      }
      const found = snapshot?.keys.get(name)
      if (!found) throw new ProviderError('invalid_token', 'The token names a key the provider does not publish.')
      return found
    },
  }
}

async function fetchKeys(url: string, runtime: Pick<Runtime, 'fetch'>): Promise<Map<string, CryptoKey>> {
  try {
    const response = await runtime.fetch(new Request(url, { headers: { accept: 'application/json' } }))
    if (!response.ok) throw new TypeError(`The key set answered ${response.status}.`)
    const body = (await response.json()) as { keys?: unknown }
    if (!Array.isArray(body.keys)) throw new TypeError('The key set has no keys member.')
    const keys = new Map<string, CryptoKey>()
    for (const jwk of (body.keys as JWK[]).slice(0, maxKeys)) {
      const algorithm = algorithmOf(jwk)
      if (!algorithm) continue
      keys.set(`${jwk.kid ?? ''} ${algorithm}`, (await importJWK(jwk, algorithm)) as CryptoKey)
    }
    return keys
  } catch (error) {
    throw new ProviderError('transient', 'The key set of the session provider cannot be read.', { cause: error })
  }
}

// Only asymmetric keys count: a symmetric key in a public document would let anyone sign.
function algorithmOf(jwk: JWK): 'ES256' | 'RS256' | undefined {
  if (jwk.use !== undefined && jwk.use !== 'sig') return undefined
  if (jwk.kty === 'EC' && jwk.crv === 'P-256') return 'ES256'
  return jwk.kty === 'RSA' && (jwk.alg === undefined || jwk.alg === 'RS256') ? 'RS256' : undefined
}
