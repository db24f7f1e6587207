import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { readJwt, type UnverifiedJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CryptoKey, errors, importJWK, type JWK, jwtVerify } from 'jose'
import type { AttemptStore } from '../limits/attempt-limit.ts'
import type { Client } from './client.ts'
import { isInUse } from './client-life.ts'
import type { FetchClientKeys } from './client-keys.ts'
import { hashSecret } from '../seal.ts'

/** In the order metadata lists them. No HS256: this server would have to keep the secret itself. */
export const assertionAlgorithms: readonly string[] = ['ES256', 'EdDSA', 'PS256', 'RS256']

/** The only `client_assertion_type` (RFC 7523 section 2.2). */
export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const maxLength = 8192
const maxLifeSeconds = 600
const clockToleranceSeconds = 30
// 4096 bits and 32 bits in base64url: a signature under larger numbers takes up to a second to check.
const maxModulusLength = 684
const maxExponentLength = 6
// RFC 8725 section 3.11: refuse a JWT whose type declares another purpose.
const acceptedTypes = new Set(['jwt', 'client-authentication+jwt'])

export interface AssertionPorts {
  /** Stores the `jti` of each assertion until it expires, for all instances. */
  store: AttemptStore
  runtime: Pick<Runtime, 'now'>
  issuer: string
  /** URL of the token endpoint: the other audience that clients use (RFC 7523 section 3). */
  tokenEndpoint: string
  fetchKeys: FetchClientKeys
}

/** Returns the client id an assertion claims, unverified; undefined if it is not a JWT or has none (RFC 7521 section 4.2). */
export function assertedClientId(assertion: string): string | undefined {
  const subject = assertion.length > maxLength ? undefined : readJwt(assertion)?.claims['sub']
  return typeof subject === 'string' && subject !== '' ? subject : undefined
}

/**
 * Verifies that `assertion` proves `client` (RFC 7523 section 3): signed with a key of the client, `iss` and `sub` its id, `aud`
 * only this server, `exp` at most ten minutes ahead, and an unused `jti`.
 *
 * Throws `invalid_client` if it does not, and what `fetchKeys` throws. Stores the `jti` last, so that only the holder of the key
 * uses one up.
 */
export async function verifyClientAssertion(
  client: Client,
  assertion: string,
  ports: AssertionPorts,
): Promise<void> {
  const now = ports.runtime.now()
  const jwt = assertion.length > maxLength ? undefined : readJwt(assertion)
  if (!jwt) throw refusal('is not a signed JWT')
  checkHeader(jwt.header)
  checkParties(jwt.claims, client.id, ports)
  const expiresAt = checkTimes(jwt, now)
  const { jti } = jwt.claims
  if (typeof jti !== 'string' || jti === '') throw refusal('has no jti')
  await checkSignature(client, assertion, jwt.header, ports, now)
  const key = `client-assertion ${hashSecret(JSON.stringify([client.id, jti]))}`
  const { count } = await ports.store.countAttempt(key, expiresAt - now + 2 * clockToleranceSeconds, now)
  if (count > 1) throw refusal('was already used; create a new one, with a new jti, for every request')
}

function checkHeader({ alg, typ }: JsonObject): void {
  if (typeof alg !== 'string' || !assertionAlgorithms.includes(alg)) {
    throw refusal(`must be signed with one of ${assertionAlgorithms.join(', ')}`)
  }
  if (typ !== undefined && !(typeof typ === 'string' && acceptedTypes.has(typ.toLowerCase()))) {
    throw refusal('has a typ for another purpose')
  }
}

function checkParties(
  { iss, sub, aud }: JsonObject,
  clientId: string,
  { issuer, tokenEndpoint }: AssertionPorts,
): void {
  if (iss !== clientId || sub !== clientId) throw refusal('must have the client id as iss and as sub')
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  const isOurs = (value: unknown): boolean =>
    value === tokenEndpoint || (typeof value === 'string' && isSameIssuer(value, issuer))
  // Another audience in the list could present the assertion here as the client.
  if (audiences.length === 0 || !audiences.every(isOurs)) {
    throw refusal(`must have ${issuer} as its only aud`)
  }
}

/** Checks the times and returns the expiry in whole seconds. */
function checkTimes({ claims, expiresAt }: UnverifiedJwt, now: number): number {
  const isAhead = (value: unknown): boolean =>
    value !== undefined && !(typeof value === 'number' && value <= now + clockToleranceSeconds)
  if (expiresAt === undefined) throw refusal('has no exp')
  if (expiresAt <= now - clockToleranceSeconds) throw refusal('has expired')
  if (expiresAt > now + maxLifeSeconds + clockToleranceSeconds) {
    throw refusal(`must expire within ${maxLifeSeconds} seconds`)
  }
  if (isAhead(claims['nbf']) || isAhead(claims['iat'])) throw refusal('is not valid yet')
  return Math.ceil(expiresAt)
}

async function checkSignature(
  client: Client,
  assertion: string,
  { alg, kid }: JsonObject,
  { fetchKeys }: AssertionPorts,
  now: number,
): Promise<void> {
  const name = typeof kid === 'string' ? kid : undefined
  if (!client.keys) throw refusal('cannot be checked: this client has no keys')
  const keys =
    client.keys.kind === 'jwks'
      ? client.keys.keys
      : await fetchKeys({ uri: client.keys.uri, kid: name, known: isInUse(client) })
  const candidates = keys.filter((key) => (name === undefined || key['kid'] === name) && fits(key, alg))
  for (const candidate of candidates) {
    if (await isSignedWith(candidate, assertion, String(alg), now)) return
  }
  throw refusal('is not signed with a key of this client')
}

/** Returns whether a key's own members allow signatures of that algorithm (RFC 7517 section 4). */
function fits(key: JsonObject, alg: unknown): boolean {
  const { use, alg: only, key_ops: operations } = key
  if (use !== undefined && use !== 'sig') return false
  if (only !== undefined && only !== alg) return false
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return false
  return isOfKind(key, alg)
}

function isOfKind({ kty, crv, n, e }: JsonObject, alg: unknown): boolean {
  if (alg === 'ES256') return kty === 'EC' && crv === 'P-256'
  if (alg === 'EdDSA') return kty === 'OKP' && crv === 'Ed25519'
  return kty === 'RSA' && isOfLength(n, maxModulusLength) && isOfLength(e, maxExponentLength)
}

function isOfLength(value: unknown, max: number): boolean {
  return typeof value === 'string' && value.length <= max
}

async function isSignedWith(
  jwk: JsonObject,
  assertion: string,
  algorithm: string,
  now: number,
): Promise<boolean> {
  try {
    const key = (await importJWK(jwk as JWK, algorithm)) as CryptoKey
    // Refuses `crit` and every other header member that changes how the signature is made.
    await jwtVerify(assertion, key, {
      algorithms: [algorithm],
      currentDate: new Date(now * 1000),
      clockTolerance: clockToleranceSeconds,
    })
    return true
  } catch (error) {
    // Skip keys that cannot be imported: they must not hide the others (RFC 7517 section 5).
    if (error instanceof errors.JOSEError || error instanceof TypeError) return false
    if (error instanceof DOMException) return false
    throw error
  }
}

function refusal(what: string): OAuthError {
  return new OAuthError('invalid_client', `The client assertion ${what}.`)
}
