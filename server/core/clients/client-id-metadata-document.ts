import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Client, ClientAuthMethod, DocumentFreshness } from './client.ts'
import {
  type ClientMetadataPolicy,
  type DescribedClient,
  invalidMetadata,
  readClientMetadata,
  readMetadataObject,
  readStrings,
  requireKeys,
} from './client-metadata.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

const maxUrlLength = 1024

/** Members that list authentication methods in documents; in practice some list several. */
const methodLists = ['token_endpoint_auth_methods_supported', 'token_endpoint_auth_methods'] as const

type DocumentClient = DescribedClient & Pick<Client, 'id' | 'authMethod'>

/** A valid document's client, or the reason it is invalid, written for the document's author. */
export type DocumentReading = { kind: 'client'; client: DocumentClient } | { kind: 'invalid'; reason: string }

/** True for every http and https URL, allowed or not. */
export function looksLikeDocumentUrl(id: string): boolean {
  return /^https?:/i.test(id)
}

/**
 * Returns whether a client id may be the URL of a metadata document (OAuth client id metadata document, section 3): https, a path
 * other than `/`, no fragment, no user information, no dot segments. It must be spelled as a URL parser serializes it, so that one
 * URL is not two clients, and contain a host name rather than an address, because users are shown the host. With `allowLoopback`
 * also http on a loopback host.
 */
export function isDocumentUrl(id: string, allowLoopback: boolean): boolean {
  if (id.length > maxUrlLength || !isUrl(id)) return false
  const url = new URL(id)
  if (url.href !== id || id.includes('#') || url.username !== '' || url.password !== '') return false
  if (url.pathname === '/' || url.port === '0') return false
  if (allowLoopback && isLoopbackHostname(url.hostname)) return looksLikeDocumentUrl(id)
  return url.protocol === 'https:' && isHostName(url.hostname)
}

/**
 * Reads the document fetched from `url` (OAuth client id metadata document, section 4; MCP 2026-07-28): `client_id` equals `url`
 * exactly, `client_name` and `redirect_uris` are present, it neither contains nor requires a shared secret, and everything else is
 * as in a registration.
 *
 * A client that prefers another method is treated as public if its document also lists `none`. Does not check whether documents may
 * come from `url`.
 */
export function readClientDocument(
  url: string,
  document: unknown,
  policy: ClientMetadataPolicy,
): DocumentReading {
  try {
    return { kind: 'client', client: describe(url, readMetadataObject(document), policy) }
  } catch (error) {
    if (error instanceof OAuthError) return { kind: 'invalid', reason: error.description }
    throw error
  }
}

function describe(url: string, given: JsonObject, policy: ClientMetadataPolicy): DocumentClient {
  if (given['client_id'] !== url) throw invalidMetadata('client_id must be exactly the URL of the document.')
  if ('client_secret' in given || 'client_secret_expires_at' in given) {
    throw invalidMetadata('A public document must not contain a client_secret.')
  }
  const described = readClientMetadata(given, policy)
  const { name, redirectUris, keys } = described
  if (name === undefined) throw invalidMetadata('client_name is missing.')
  if (redirectUris.length === 0) {
    throw new OAuthError('invalid_redirect_uri', 'redirect_uris is missing.')
  }
  const authMethod = readAuthMethod(given)
  requireKeys(authMethod, keys)
  return { ...described, id: url, authMethod }
}

function readAuthMethod(given: JsonObject): ClientAuthMethod {
  // Without a shared secret, an omitted method cannot mean client_secret_basic here.
  const preferred = given['token_endpoint_auth_method'] ?? 'none'
  if (typeof preferred !== 'string') throw invalidMetadata('token_endpoint_auth_method must be a string.')
  if (preferred.startsWith('client_secret_')) {
    throw invalidMetadata('token_endpoint_auth_method must not be one with a shared secret.')
  }
  const listed = methodLists.flatMap((name) => readStrings(given, name) ?? [])
  if (preferred === 'none' || listed.includes('none')) return 'none'
  if (preferred === 'private_key_jwt') return 'private_key_jwt'
  throw invalidMetadata('token_endpoint_auth_method must be none or private_key_jwt.')
}

/** A name without a dot is local, one that ends in a number is an address. */
function isHostName(hostname: string): boolean {
  const labels = hostname.split('.')
  return (
    labels.length > 1 &&
    labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) &&
    /^[a-z]/.test(labels.at(-1) ?? '')
  )
}

/** Returns the host that a client's id proves: its document's. Needs only the id, so it also works for removed clients. */
export function documentHost(client: Pick<Client, 'id'> & Partial<Pick<Client, 'kind'>>): string | undefined {
  if (client.kind !== undefined && client.kind !== 'metadata_document') return undefined
  if (!client.id.startsWith('https://') || !isUrl(client.id)) return undefined
  return new URL(client.id).host
}

const minSeconds = 30
const usualSeconds = 300
const maxSeconds = 24 * 3600

/**
 * How long a response may be used (RFC 9111 sections 4.2 and 5.2.2): `max-age`, else `Expires`, else five minutes. At least 30
 * seconds, so that a client cannot cause a fetch for every request, and at most a day.
 */
export function freshnessOf(headers: Headers, now: number): DocumentFreshness {
  const seconds = lifetimeOf(headers, now)
  const bounded = Math.min(Math.max(seconds, minSeconds), maxSeconds)
  return { fetchedAt: now, freshUntil: now + bounded }
}

function lifetimeOf(headers: Headers, now: number): number {
  const directives = cacheDirectives(headers.get('cache-control') ?? '')
  if (directives.has('no-store') || directives.has('no-cache')) return 0
  const age = wholeSeconds(headers.get('age') ?? undefined) ?? 0
  if (directives.has('max-age')) return (wholeSeconds(directives.get('max-age')) ?? 0) - age
  const expires = headers.get('expires')
  if (expires === null) return usualSeconds
  // By the host's clock, which may be wrong by hours.
  const sentAt = Date.parse(headers.get('date') ?? '')
  const seconds = (Date.parse(expires) - (Number.isNaN(sentAt) ? now * 1000 : sentAt)) / 1000
  // RFC 9111 section 5.3: an invalid date is in the past.
  return Number.isNaN(seconds) ? 0 : Math.floor(seconds) - age
}

function cacheDirectives(header: string): Map<string, string> {
  const directives = header.split(',').map((part): [name: string, value: string] => {
    const [name = '', value = ''] = part.split('=', 2)
    return [name.trim().toLowerCase(), value.trim().replaceAll('"', '')]
  })
  return new Map(directives)
}

function wholeSeconds(text: string | undefined): number | undefined {
  // RFC 9111 section 1.2.2: treat a number too large to represent as large, never as infinite.
  return text !== undefined && /^\d+$/.test(text) ? Math.min(Number(text), 2 ** 31) : undefined
}
