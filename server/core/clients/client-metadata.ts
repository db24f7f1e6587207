import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { checkRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { type Client, deviceGrantType, type GrantType, grantTypes } from './client.ts'
import { readKeys } from './client-key-metadata.ts'
import { invalidMetadata } from './invalid-metadata.ts'

const maxRedirectUris = 20
const maxNameLength = 200
const maxLinkLength = 2048
const maxScopeLength = 1000

// A client that omits the list expects to stay signed in: RFC 7591 section 2 would give it authorization_code alone. The
// device grant is only for who names it, as a code can be talked out of people.
const defaultGrantTypes: readonly GrantType[] = ['authorization_code', 'refresh_token']

/** What a client may say about itself. */
export interface ClientMetadataPolicy {
  /** Private-use redirect URIs that are accepted, each by exact match. */
  privateUseRedirectUris: readonly string[]
  /** In development, when this server itself is on loopback: keys may be fetched from there too. */
  allowLoopback: boolean
}

/** What metadata says about a client, apart from how it proves itself. */
export type DescribedClient = Pick<Client, 'name' | 'uri' | 'redirectUris' | 'grantTypes' | 'scope' | 'keys'>

/** What there is to say about a resource server that only asks what tokens are worth: it signs nobody in. */
export const introspectsOnly: Pick<DescribedClient, 'uri' | 'redirectUris' | 'grantTypes' | 'scope'> = {
  uri: undefined,
  redirectUris: [],
  grantTypes: [],
  scope: undefined,
}

/**
 * Reads client metadata (RFC 7591 section 2), the same for a registration, a metadata document and a configured client.
 *
 * Unknown members are ignored, and so are unsupported grant and response types beside supported ones, and software
 * statements (RFC 7591 section 3.1.1), whose claims therefore count for nothing. `application_type` changes nothing: the
 * rules for redirect URIs are the same for all. Nothing is verified: names and links are the client's own words.
 * Throws `invalid_redirect_uri` or `invalid_client_metadata`.
 */
export function readClientMetadata(given: JsonObject, policy: ClientMetadataPolicy): DescribedClient {
  const supported = readGrantTypes(given['grant_types'])
  const asksForCode = supported.includes('authorization_code')
  const deviceOnly = !asksForCode && supported.includes(deviceGrantType)
  // First, as a client that registers with nothing at all has to be told what it is that it needs.
  const redirectUris = readRedirectUris(given['redirect_uris'], policy, deviceOnly ? 0 : 1)
  if (!asksForCode && !deviceOnly) {
    throw invalidMetadata(`grant_types must include authorization_code or ${deviceGrantType}.`)
  }
  readResponseTypes(given['response_types'], asksForCode)
  return {
    name: readText(given, 'client_name'),
    uri: readLink(given, 'client_uri'),
    redirectUris,
    grantTypes: supported,
    scope: readText(given, 'scope', maxScopeLength),
    keys: readKeys(given, policy.allowLoopback),
  }
}

/** `value` as a JSON object. Throws `invalid_client_metadata`. */
export function readMetadataObject(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw invalidMetadata('Client metadata must be a JSON object.')
  return value
}

/** A member that is a list of strings; undefined when it is omitted. Throws `invalid_client_metadata`. */
export function readStrings(given: JsonObject, name: string): string[] | undefined {
  return stringsOf(given[name], name)
}

function stringsOf(value: unknown, name: string): string[] | undefined {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === 'string')) {
    throw invalidMetadata(`${name} must be an array of strings.`)
  }
  return value
}

function readRedirectUris(value: unknown, policy: ClientMetadataPolicy, fewest: number): string[] {
  const uris = stringsOf(value, 'redirect_uris') ?? []
  if (uris.length < fewest || uris.length > maxRedirectUris) {
    throw new OAuthError('invalid_redirect_uri', `Give between 1 and ${maxRedirectUris} redirect_uris.`)
  }
  for (const [index, uri] of uris.entries()) {
    const checked = checkRedirectUri(uri, { privateUse: policy.privateUseRedirectUris })
    if (checked.kind === 'refused') {
      throw new OAuthError(
        'invalid_redirect_uri',
        `redirect_uris[${index}] is refused (${checked.reason}). Use https, or http on a loopback host.`,
      )
    }
  }
  return [...new Set(uris)]
}

function readGrantTypes(value: unknown): GrantType[] {
  const asked = stringsOf(value, 'grant_types') ?? defaultGrantTypes
  return grantTypes.filter((type) => asked.includes(type))
}

function readResponseTypes(value: unknown, asksForCode: boolean): void {
  const types = stringsOf(value, 'response_types')
  // RFC 7591 section 2.1: the two lists have to agree; without the code grant there is no response type.
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
  // A link is shown to people: anything but http(s) is dropped, as a script URL would run on our page.
  return link !== undefined && URL.canParse(link) && /^https?:$/.test(new URL(link).protocol)
    ? link
    : undefined
}
