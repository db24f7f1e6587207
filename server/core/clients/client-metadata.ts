import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { isLoopbackHostname, redirectUriRefusal } from '@drawbridge/shared/oauth/redirect-uri.ts'
import {
  type Client,
  type ClientAuthMethod,
  type ClientKeys,
  deviceGrantType,
  type GrantType,
  grantTypes,
} from './client.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

const maxRedirectUris = 20
const maxNameLength = 200
const maxLinkLength = 2048
const maxScopeLength = 1000

// A client that omits the list expects to stay signed in: RFC 7591 section 2 would give it authorization_code alone. The device
// grant must be requested explicitly, as users can be tricked into approving a code.
const defaultGrantTypes: readonly GrantType[] = ['authorization_code', 'refresh_token']

export interface ClientMetadataPolicy {
  privateUseRedirectUris: readonly string[]
  /** For development, when this server itself is on loopback: allows fetching keys from loopback too. */
  allowLoopback: boolean
}

export type DescribedClient = Pick<Client, 'name' | 'uri' | 'redirectUris' | 'grantTypes' | 'scope' | 'keys'>

/** Metadata of a resource server that only introspects tokens, without sign-in. */
export const introspectsOnly: Pick<DescribedClient, 'uri' | 'redirectUris' | 'grantTypes' | 'scope'> = {
  uri: undefined,
  redirectUris: [],
  grantTypes: [],
  scope: undefined,
}

/**
 * Reads client metadata (RFC 7591 section 2), the same for a registration, a metadata document and a configured client.
 *
 * Ignores unknown members, unsupported grant and response types if supported ones are listed too, and software statements (RFC 7591
 * section 3.1.1), including their claims. `application_type` has no effect: the rules for redirect URIs are the same for all.
 * Nothing is verified: names and links are self-declared. Throws `invalid_redirect_uri` or `invalid_client_metadata`.
 */
export function readClientMetadata(given: JsonObject, policy: ClientMetadataPolicy): DescribedClient {
  const supported = readGrantTypes(given)
  const asksForCode = supported.includes('authorization_code')
  const deviceOnly = !asksForCode && supported.includes(deviceGrantType)
  // First, so that a client that registers without any metadata learns what is required.
  const redirectUris = readRedirectUris(given, policy, deviceOnly ? 0 : 1)
  if (!asksForCode && !deviceOnly) {
    throw invalidMetadata(`grant_types must include authorization_code or ${deviceGrantType}.`)
  }
  readResponseTypes(given, asksForCode)
  return {
    name: readText(given, 'client_name'),
    uri: readLink(given, 'client_uri'),
    redirectUris,
    grantTypes: supported,
    scope: readText(given, 'scope', maxScopeLength),
    keys: readKeys(given, policy.allowLoopback),
  }
}

/** Throws `invalid_client_metadata`. */
export function readMetadataObject(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw invalidMetadata('Client metadata must be a JSON object.')
  return value
}

/** Returns a member that is a list of strings; undefined if omitted. Throws `invalid_client_metadata`. */
export function readStrings(given: JsonObject, name: string): string[] | undefined {
  const value = given[name]
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === 'string')) {
    throw invalidMetadata(`${name} must be an array of strings.`)
  }
  return value
}

function readRedirectUris(given: JsonObject, policy: ClientMetadataPolicy, min: number): string[] {
  const uris = readStrings(given, 'redirect_uris') ?? []
  if (uris.length < min || uris.length > maxRedirectUris) {
    throw new OAuthError('invalid_redirect_uri', `Give between 1 and ${maxRedirectUris} redirect_uris.`)
  }
  for (const [index, uri] of uris.entries()) {
    const reason = redirectUriRefusal(uri, policy.privateUseRedirectUris)
    if (reason !== undefined) {
      throw new OAuthError(
        'invalid_redirect_uri',
        `redirect_uris[${index}] is refused (${reason}). Use https, or http on a loopback host.`,
      )
    }
  }
  return [...new Set(uris)]
}

function readGrantTypes(given: JsonObject): GrantType[] {
  const asked = readStrings(given, 'grant_types') ?? defaultGrantTypes
  return grantTypes.filter((type) => asked.includes(type))
}

function readResponseTypes(given: JsonObject, asksForCode: boolean): void {
  const types = readStrings(given, 'response_types')
  // RFC 7591 section 2.1: the two lists must agree; without the code grant there is no response type.
  if (types && asksForCode && !types.includes('code'))
    throw invalidMetadata('response_types must include code.')
}

function readText(given: JsonObject, name: string, maxLength = maxNameLength): string | undefined {
  const value = given[name]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string' || value.length > maxLength) {
    throw invalidMetadata(`${name} must be a string of at most ${maxLength} characters.`)
  }
  return value
}

function readLink(given: JsonObject, name: string): string | undefined {
  const link = readText(given, name, maxLinkLength)
  // The link is shown to users: drop anything but http(s), as a script URL would run on our page.
  return link !== undefined && isUrl(link) && /^https?:$/.test(new URL(link).protocol) ? link : undefined
}

/** RFC 7591 section 3.2.2. `description` is for the client's author. */
export function invalidMetadata(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description)
}

const maxKeys = 20
const maxKeysLength = 16_384
const maxUriLength = 2048
// RFC 7518 sections 6.2.2, 6.3.2 and 6.4: private members.
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
// RFC 7517 section 4, RFC 7518 section 6 and RFC 8037 section 2: members for checking a signature.
const publicMembers = ['kty', 'crv', 'x', 'y', 'n', 'e', 'kid', 'use', 'key_ops', 'alg']

/**
 * Reads `jwks` or `jwks_uri`, never both (RFC 7591 section 2). Does not check that a key fits an algorithm; verifying a signature
 * does. Throws `invalid_client_metadata`, also for a private key: it is compromised once it was sent.
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

/** Throws `invalid_client_metadata` for a client that must sign its assertions but has no keys. */
export function requireKeys(method: ClientAuthMethod, keys: ClientKeys | undefined): void {
  if (method === 'private_key_jwt' && !keys) throw invalidMetadata('private_key_jwt needs jwks or jwks_uri.')
}

/** Reduces each key (RFC 7517 section 5) to what verifies a signature; undefined for anything but a small set of public keys. */
export function publicKeysOf(set: unknown): JsonObject[] | undefined {
  const keys: unknown = isJsonObject(set) ? set['keys'] : undefined
  if (!Array.isArray(keys) || keys.length > maxKeys || !keys.every(isPublicKey)) return undefined
  const known = keys.map(withoutUnknownMembers)
  return JSON.stringify(known).length > maxKeysLength ? undefined : known
}

/** Also drops nested values: all known members are strings or lists of strings, and serializing a deeply nested value can fail. */
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
  if (typeof value !== 'string' || value.length > maxUriLength || !isUrl(value)) throw refusal
  const { protocol, hostname, username, password } = new URL(value)
  const secure =
    protocol === 'https:' || (allowLoopback && protocol === 'http:' && isLoopbackHostname(hostname))
  if (!secure || username !== '' || password !== '' || value.includes('#')) throw refusal
  return value
}
