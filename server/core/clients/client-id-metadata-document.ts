import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Client, ClientAuthMethod } from './client.ts'
import {
  type ClientMetadataPolicy,
  type DescribedClient,
  invalidMetadata,
  readClientMetadata,
  readMetadataObject,
  readStrings,
  requireKeys,
} from './client-metadata.ts'

const maxUrlLength = 1024

/** The methods by which documents say how their client proves itself; in the field some list several. */
const methodLists = ['token_endpoint_auth_methods_supported', 'token_endpoint_auth_methods'] as const

/** What a metadata document says about its client. */
export type DocumentClient = DescribedClient & Pick<Client, 'id' | 'authMethod'> & { name: string }

/** A document that describes its client, or why it does not; `reason` is for the author of the document. */
export type DocumentReading = { kind: 'client'; client: DocumentClient } | { kind: 'invalid'; reason: string }

/** Whether a client id claims to be the URL of a metadata document. */
export function looksLikeDocumentUrl(id: string): boolean {
  return /^https?:/i.test(id)
}

/**
 * Whether a client id may be the URL of a metadata document (OAuth client id metadata document, section 3): https, a path
 * beside `/`, no fragment, no user information, no dot segments. It must also be spelled the way a URL parser writes it, so
 * that no two spellings of one URL are two clients, and name a host instead of an address, because the host is what
 * people are shown. With `allowLoopback` also http on a loopback host.
 */
export function isDocumentUrl(id: string, allowLoopback: boolean): boolean {
  if (id.length > maxUrlLength || !URL.canParse(id)) return false
  const url = new URL(id)
  if (url.href !== id || id.includes('#') || url.username !== '' || url.password !== '') return false
  if (url.pathname === '/' || url.port === '0') return false
  if (allowLoopback && isLoopbackHostname(url.hostname)) return looksLikeDocumentUrl(id)
  return url.protocol === 'https:' && isHostName(url.hostname)
}

/**
 * Reads the document that was fetched from `url` (OAuth client id metadata document, section 4; MCP 2026-07-28): `client_id` is
 * `url` to the letter, `client_name` and `redirect_uris` are there, no shared secret is in it or wanted by it, and everything
 * else is as in a registration.
 *
 * A client that prefers something else is taken as public when its document lists `none` as well. Not checked: whether `url`
 * is one that documents may come from.
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
  if (given['client_id'] !== url)
    throw invalidMetadata('client_id must be the URL of the document, to the letter.')
  if ('client_secret' in given || 'client_secret_expires_at' in given) {
    throw invalidMetadata('A public document must not hold a client_secret.')
  }
  const described = readClientMetadata(given, policy)
  const { name, redirectUris, keys } = described
  if (name === undefined) throw invalidMetadata('client_name is missing.')
  if (redirectUris.length === 0) {
    throw new OAuthError('invalid_redirect_uri', 'redirect_uris is missing.')
  }
  const authMethod = readAuthMethod(given)
  requireKeys(authMethod, keys)
  return { ...described, id: url, name, authMethod }
}

function readAuthMethod(given: JsonObject): ClientAuthMethod {
  // There is no shared secret, so what is omitted cannot mean client_secret_basic here.
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

/** Whether it is a name of the public DNS in form: one without a dot is of the own network, one that ends in a number an address. */
function isHostName(hostname: string): boolean {
  const labels = hostname.split('.')
  return (
    labels.length > 1 &&
    labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label)) &&
    /^[a-z]/.test(labels.at(-1) ?? '')
  )
}

/**
 * The host that a client's id proves: that of its metadata document (draft-ietf-oauth-client-id-metadata-document). Undefined
 * for every other client. Also works for a client that cannot be found any more, by its id alone.
 */
export function documentHost(client: Pick<Client, 'id'> & Partial<Pick<Client, 'kind'>>): string | undefined {
  if (client.kind !== undefined && client.kind !== 'metadata_document') return undefined
  if (!client.id.startsWith('https://') || !URL.canParse(client.id)) return undefined
  return new URL(client.id).host
}
