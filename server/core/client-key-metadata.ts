import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { OAuthError } from '@drawbridge/shared/oauth-error.ts'
import { isLoopbackHostname } from '@drawbridge/shared/redirect-uri.ts'
import type { ClientKeys } from './client.ts'

const maxKeys = 20
const maxKeysLength = 16_384
const maxUriLength = 2048
// RFC 7518 sections 6.2.2, 6.3.2 and 6.4: what only the holder of a key may know.
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/**
 * The keys that client metadata names by `jwks` or `jwks_uri`, never by both (RFC 7591 section 2); undefined for neither.
 *
 * Whether a key fits an algorithm is seen when something is signed with it. Throws `invalid_client_metadata`; for a private
 * key too, as whoever sends it around has lost it.
 */
export function readKeys(given: JsonObject, allowLoopback: boolean): ClientKeys | undefined {
  const { jwks, jwks_uri: uri } = given
  const hasKeys = jwks !== undefined && jwks !== null
  const hasUri = uri !== undefined && uri !== null && uri !== ''
  if (hasKeys && hasUri) throw invalid('Give jwks or jwks_uri, not both.')
  if (hasUri) return { kind: 'jwks_uri', uri: readKeyUri(uri, allowLoopback) }
  if (!hasKeys) return undefined
  const keys = publicKeysOf(jwks)
  if (!keys || keys.length === 0) {
    throw invalid(`jwks must be a JWK set of 1 to ${maxKeys} public keys, without private members.`)
  }
  return { kind: 'jwks', keys }
}

/**
 * The keys of a JWK set (RFC 7517 section 5), each as it is; undefined for what is none, is too large, or holds anything but
 * public keys.
 */
export function publicKeysOf(set: unknown): JsonObject[] | undefined {
  const keys: unknown = isJsonObject(set) ? set['keys'] : undefined
  if (!Array.isArray(keys) || keys.length > maxKeys || JSON.stringify(keys).length > maxKeysLength) {
    return undefined
  }
  return keys.every(isPublicKey) ? keys : undefined
}

function isPublicKey(key: unknown): key is JsonObject {
  if (!isJsonObject(key)) return false
  const { kty } = key
  return typeof kty === 'string' && kty !== 'oct' && privateMembers.every((name) => !Object.hasOwn(key, name))
}

function readKeyUri(value: unknown, allowLoopback: boolean): string {
  const refusal = invalid('jwks_uri must be an https URL without user information and fragment.')
  if (typeof value !== 'string' || value.length > maxUriLength || !URL.canParse(value)) throw refusal
  const { protocol, hostname, username, password } = new URL(value)
  const secure =
    protocol === 'https:' || (allowLoopback && protocol === 'http:' && isLoopbackHostname(hostname))
  if (!secure || username !== '' || password !== '' || value.includes('#')) throw refusal
  return value
}

function invalid(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description)
}
