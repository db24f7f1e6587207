import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { ClientAuthMethod, ClientKeys } from './client.ts'
import { invalidMetadata } from './invalid-metadata.ts'

const maxKeys = 20
const maxKeysLength = 16_384
const maxUriLength = 2048
// RFC 7518 sections 6.2.2, 6.3.2 and 6.4: what only the holder of a key may know.
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
// RFC 7517 section 4, RFC 7518 section 6 and RFC 8037 section 2: what a signature is checked with.
const publicMembers = ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'use', 'key_ops', 'alg']

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
  if (hasKeys && hasUri) throw invalidMetadata('Give jwks or jwks_uri, not both.')
  if (hasUri) return { kind: 'jwks_uri', uri: readKeyUri(uri, allowLoopback) }
  if (!hasKeys) return undefined
  const keys = publicKeysOf(jwks)
  if (!keys || keys.length === 0) {
    throw invalidMetadata(`jwks must be a JWK set of 1 to ${maxKeys} public keys, without private members.`)
  }
  return { kind: 'jwks', keys }
}

/** Throws `invalid_client_metadata` for a client that is to sign its assertions and names no keys. */
export function requireKeys(method: ClientAuthMethod, keys: ClientKeys | undefined): void {
  if (method === 'private_key_jwt' && !keys) throw invalidMetadata('private_key_jwt needs jwks or jwks_uri.')
}

/**
 * The keys of a JWK set (RFC 7517 section 5), each without the members that a signature is not checked with; undefined for what
 * is none, is too large, or holds anything but public keys.
 */
export function publicKeysOf(set: unknown): JsonObject[] | undefined {
  const keys: unknown = isJsonObject(set) ? set['keys'] : undefined
  if (!Array.isArray(keys) || keys.length > maxKeys || !keys.every(isPublicKey)) return undefined
  const known = keys.map(withoutUnknownMembers)
  return JSON.stringify(known).length > maxKeysLength ? undefined : known
}

/** What is nested goes too: all of these are text, or a list of texts, and to write a value of any depth can fail. */
function withoutUnknownMembers(key: JsonObject): JsonObject {
  const isFlat = (value: unknown): boolean => typeof value !== 'object' || value === null
  const known = publicMembers.flatMap((name): [name: string, value: unknown][] => {
    const value = Object.hasOwn(key, name) ? key[name] : undefined
    return isFlat(value) || (Array.isArray(value) && value.every(isFlat)) ? [[name, value]] : []
  })
  return Object.fromEntries(known.filter(([, value]) => value !== undefined))
}

function isPublicKey(key: unknown): key is JsonObject {
  if (!isJsonObject(key)) return false
  const { kty } = key
  return typeof kty === 'string' && kty !== 'oct' && privateMembers.every((name) => !Object.hasOwn(key, name))
}

function readKeyUri(value: unknown, allowLoopback: boolean): string {
  const refusal = invalidMetadata('jwks_uri must be an https URL without user information and fragment.')
  if (typeof value !== 'string' || value.length > maxUriLength || !URL.canParse(value)) throw refusal
  const { protocol, hostname, username, password } = new URL(value)
  const secure =
    protocol === 'https:' || (allowLoopback && protocol === 'http:' && isLoopbackHostname(hostname))
  if (!secure || username !== '' || password !== '' || value.includes('#')) throw refusal
  return value
}
