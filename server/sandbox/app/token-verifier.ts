import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createLocalJWKSet, errors, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose'
import type { AuthClient } from './auth-client.ts'

const KEYS_SECONDS = 600
const REFETCH_SECONDS = 30

/** Who an API caller is, or why the token is not accepted; the reason is for the caller to read. */
export type Verification =
  | { kind: 'caller'; userId: string }
  | { kind: 'refused'; reason: string }
  /** The keys cannot be fetched. */
  | { kind: 'unavailable' }

/** Checks an access token of the provider. */
export type TokenVerifier = (token: string) => Promise<Verification>

/**
 * Checks tokens by the provider's published keys; a token signed with a shared secret is shown to the provider, which
 * alone knows the secret. Either way issuer, audience, expiry and role must be a user's: the provider signs API keys
 * too, and a good signature is not a sign-in.
 */
export function createTokenVerifier(
  config: { authUrl: string },
  ports: {
    auth: Pick<AuthClient, 'user'>
    authFetch: (request: Request) => Promise<Response>
    runtime: Pick<Runtime, 'now'>
  },
): TokenVerifier {
  let keys: JSONWebKeySet | undefined
  let fetchedAt = Number.NEGATIVE_INFINITY

  async function fetchKeys(kid: string | undefined): Promise<JSONWebKeySet> {
    const age = ports.runtime.now() - fetchedAt
    const knows = keys?.keys.some((key) => key.kid === kid) ?? false
    if (keys !== undefined && age < (knows ? KEYS_SECONDS : REFETCH_SECONDS)) return keys
    const response = await ports.authFetch(new Request(`${config.authUrl}/.well-known/jwks.json`))
    if (!response.ok) throw new Error(`status ${response.status}`)
    keys = parseKeySet(await response.json())
    fetchedAt = ports.runtime.now()
    return keys
  }

  async function verifySigned(token: string, kid: string | undefined): Promise<Verification> {
    let jwks: JSONWebKeySet
    try {
      jwks = await fetchKeys(kid)
    } catch {
      return { kind: 'unavailable' }
    }
    try {
      const { payload } = await jwtVerify(token, createLocalJWKSet(jwks), {
        algorithms: ['ES256', 'RS256'],
        currentDate: new Date(ports.runtime.now() * 1000),
      })
      return checkClaims(payload)
    } catch (error) {
      const reason = error instanceof errors.JWTExpired ? 'The token has expired.' : 'The token is not valid.'
      return { kind: 'refused', reason }
    }
  }

  async function verifyByProvider(token: string, claims: JWTPayload): Promise<Verification> {
    const checked = checkClaims(claims)
    if (checked.kind !== 'caller') return checked
    const user = await ports.auth.user(token)
    if (user.ok && user.value.id === checked.userId) return checked
    if (!user.ok && user.fault.kind === 'unavailable') return { kind: 'unavailable' }
    return { kind: 'refused', reason: 'The token is not valid.' }
  }

  function checkClaims(claims: JWTPayload): Verification {
    const refuse = (reason: string): Verification => ({ kind: 'refused', reason })
    if (typeof claims.exp !== 'number' || claims.exp <= ports.runtime.now())
      return refuse('The token has expired.')
    if (claims.iss !== config.authUrl) return refuse('The token is from another issuer.')
    if (![claims.aud].flat().includes('authenticated')) return refuse('The token is for another audience.')
    if (claims['role'] !== 'authenticated' || typeof claims.sub !== 'string' || claims.sub === '') {
      return refuse('The token does not belong to a signed-in user.')
    }
    return { kind: 'caller', userId: claims.sub }
  }

  return async (token) => {
    const unverified = readJwt(token)
    if (unverified === undefined) return { kind: 'refused', reason: 'The token is not a JWT.' }
    if (unverified.header['alg'] === 'HS256') return verifyByProvider(token, unverified.claims)
    const { kid } = unverified.header
    return verifySigned(token, typeof kid === 'string' ? kid : undefined)
  }
}

function parseKeySet(body: unknown): JSONWebKeySet {
  if (typeof body === 'object' && body !== null && 'keys' in body && Array.isArray(body.keys)) {
    return { keys: body.keys }
  }
  throw new Error('not a JWKS')
}
