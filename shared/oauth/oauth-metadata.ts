import { isJsonObject, type JsonObject } from '../json-object.ts'
import { isUrl } from '../url.ts'

const serverUrlMembers = [
  'authorization_endpoint',
  'token_endpoint',
  'jwks_uri',
  'registration_endpoint',
  'revocation_endpoint',
  'introspection_endpoint',
  // RFC 8628 section 4.
  'device_authorization_endpoint',
  'userinfo_endpoint',
  'service_documentation',
  'op_policy_uri',
  'op_tos_uri',
] as const

const serverListMembers = [
  'scopes_supported',
  'response_types_supported',
  'response_modes_supported',
  'grant_types_supported',
  'token_endpoint_auth_methods_supported',
  'token_endpoint_auth_signing_alg_values_supported',
  'revocation_endpoint_auth_methods_supported',
  'revocation_endpoint_auth_signing_alg_values_supported',
  'introspection_endpoint_auth_methods_supported',
  'introspection_endpoint_auth_signing_alg_values_supported',
  // A client must refuse a server that does not list `S256` (MCP 2026-07-28 authorization).
  'code_challenge_methods_supported',
  'prompt_values_supported',
  'ui_locales_supported',
  // OpenID Connect Discovery 1.0 section 3 requires this and the next one; some clients require them.
  'subject_types_supported',
  'id_token_signing_alg_values_supported',
  // Resources that tokens are issued for (RFC 9728 section 4).
  'protected_resources',
] as const

const serverFlagMembers = [
  // RFC 9207 section 3.
  'authorization_response_iss_parameter_supported',
  // Client ID Metadata Documents (draft 00 section 5).
  'client_id_metadata_document_supported',
] as const

const resourceUrlMembers = [
  'jwks_uri',
  'resource_documentation',
  'resource_policy_uri',
  'resource_tos_uri',
] as const

const resourceListMembers = ['scopes_supported', 'bearer_methods_supported'] as const

type Picked<Names extends readonly string[], Value> = { [name in Names[number]]?: Value }

/** Authorization server metadata: RFC 8414 section 2 with the extensions that Drawbridge supports. */
export type AuthorizationServerMetadata = { issuer: string } & Picked<typeof serverUrlMembers, string> &
  Picked<typeof serverListMembers, string[]> &
  Picked<typeof serverFlagMembers, boolean>

/** Protected resource metadata: RFC 9728 section 2. */
export type ProtectedResourceMetadata = { resource: string; resource_name?: string } & Picked<
  typeof resourceUrlMembers,
  string
> &
  Picked<typeof resourceListMembers | ['authorization_servers'], string[]>

/** Client metadata: RFC 7591 section 2, also the content of a client ID metadata document. */
export interface ClientMetadata {
  redirect_uris?: string[]
  token_endpoint_auth_method?: string
  grant_types?: string[]
  response_types?: string[]
  client_name?: string
  client_uri?: string
  logo_uri?: string
  scope?: string
  contacts?: string[]
  tos_uri?: string
  policy_uri?: string
  jwks_uri?: string
  jwks?: { keys: JsonObject[] }
  software_id?: string
  software_version?: string
  software_statement?: string
  /** `native` or `web` (OpenID Connect Registration 1.0 section 2; MCP 2026-07-28 requires it). */
  application_type?: string
}

/** Response to a registration: RFC 7591 section 3.2.1, RFC 7592 section 3 for the last two members. */
export interface ClientInformation extends ClientMetadata {
  client_id: string
  client_secret?: string
  /** Epoch seconds. */
  client_id_issued_at?: number
  /** Epoch seconds; 0 means never. */
  client_secret_expires_at?: number
  registration_client_uri?: string
  registration_access_token?: string
}

/** The parsed document, or why it is unusable. */
export type ParsedMetadata<Document> =
  | { kind: 'parsed'; metadata: Document }
  | { kind: 'invalid'; reason: string }

/**
 * Parses authorization server metadata. Requires only `issuer`; treats other members of the wrong type, and endpoints
 * that are not absolute http(s) URLs, as absent, because real servers send empty strings and nulls. Drops unknown
 * members.
 *
 * The caller must check with {@link isSameIssuer} that `issuer` is the requested issuer (RFC 8414 section 3.3), that URLs are
 * https, and that `S256` is listed.
 */
export function parseAuthorizationServerMetadata(
  value: unknown,
): ParsedMetadata<AuthorizationServerMetadata> {
  if (!isJsonObject(value)) return { kind: 'invalid', reason: 'the document is not a JSON object' }
  const issuer = urlMember(value, 'issuer')
  if (issuer === undefined) return { kind: 'invalid', reason: 'issuer is missing or not an http(s) URL' }
  return {
    kind: 'parsed',
    metadata: {
      issuer,
      ...pick(value, serverUrlMembers, urlMember),
      ...pick(value, serverListMembers, listMember),
      ...pick(value, serverFlagMembers, flagMember),
    },
  }
}

/**
 * Parses protected resource metadata with the same tolerance: requires only `resource`, and drops entries of
 * `authorization_servers` that are not http(s) URLs. Keeps strings verbatim.
 *
 * The caller must check that `resource` covers the server (RFC 9728 section 3.3), and that at least one authorization
 * server is named.
 */
export function parseProtectedResourceMetadata(value: unknown): ParsedMetadata<ProtectedResourceMetadata> {
  if (!isJsonObject(value)) return { kind: 'invalid', reason: 'the document is not a JSON object' }
  const resource = urlMember(value, 'resource')
  if (resource === undefined) return { kind: 'invalid', reason: 'resource is missing or not an http(s) URL' }
  const servers = listMember(value, 'authorization_servers')?.filter(isWebUrl)
  return {
    kind: 'parsed',
    metadata: {
      resource,
      ...(servers === undefined ? {} : { authorization_servers: servers }),
      ...pick(value, resourceUrlMembers, urlMember),
      ...pick(value, resourceListMembers, listMember),
      ...pick(value, ['resource_name'], textMember),
    },
  }
}

/**
 * Returns the well-known URL of a document for an issuer or resource: inserts the name between host and path, removes
 * a final slash and keeps a query (RFC 8414 section 3.1, RFC 9728 section 3.1). Throws `TypeError` if `location` is
 * not a URL.
 */
export function wellKnownUrl(location: string, name: string): string {
  const { origin, pathname, search } = new URL(location)
  return `${origin}/.well-known/${name}${withoutFinalSlash(pathname)}${search}`
}

/**
 * Returns the URLs to try for protected resource metadata when the challenge names none: the path-inserted form, then
 * the root (MCP 2026-07-28 authorization, protected resource metadata discovery). Throws `TypeError` if `resource` is
 * not a URL.
 */
export function protectedResourceMetadataUrls(resource: string): string[] {
  const name = 'oauth-protected-resource'
  return [...new Set([wellKnownUrl(resource, name), wellKnownUrl(new URL(resource).origin, name)])]
}

/**
 * Returns the URLs to try for authorization server metadata, in order (MCP 2026-07-28 authorization, authorization
 * server metadata discovery): OAuth form, OpenID Connect form, and for an issuer with a path the OpenID Connect form
 * appended to it. Throws `TypeError` if `issuer` is not a URL.
 */
export function authorizationServerMetadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer)
  const appended = `${origin}${withoutFinalSlash(pathname)}/.well-known/openid-configuration`
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map((name) =>
    wellKnownUrl(issuer, name),
  )
  return [...new Set([...inserted, appended])]
}

/**
 * Returns whether both name one authorization server: the same text, or the same origin with and without its final slash,
 * which have one well-known URL (RFC 8414 section 3.1). Tolerates nothing else: RFC 8414 section 3.3 compares texts.
 */
export function isSameIssuer(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return withoutOriginSlash(one) === withoutOriginSlash(other)
}

function withoutOriginSlash(issuer: string): string {
  return issuer.replace(/^(https?:\/\/[^/?#]+)\/$/i, '$1')
}

/** Copies the members of a document that have the expected type. */
function pick<Name extends string, Value>(
  document: JsonObject,
  names: readonly Name[],
  read: (document: JsonObject, name: string) => Value | undefined,
): { [name in Name]?: Value } {
  const picked: { [name in Name]?: Value } = {}
  for (const name of names) {
    const value = read(document, name)
    if (value !== undefined) picked[name] = value
  }
  return picked
}

function textMember(document: JsonObject, name: string): string | undefined {
  const value = document[name]
  return typeof value === 'string' ? value : undefined
}

function urlMember(document: JsonObject, name: string): string | undefined {
  const value = textMember(document, name)
  return value !== undefined && isWebUrl(value) ? value : undefined
}

function listMember(document: JsonObject, name: string): string[] | undefined {
  const value = document[name]
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string') ? value : undefined
}

function flagMember(document: JsonObject, name: string): boolean | undefined {
  const value = document[name]
  return typeof value === 'boolean' ? value : undefined
}

function isWebUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && isUrl(text)
}

function withoutFinalSlash(pathname: string): string {
  return pathname.endsWith('/') ? pathname.slice(0, -1) : pathname
}
