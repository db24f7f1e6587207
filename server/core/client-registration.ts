import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { OAuthError } from '@drawbridge/shared/oauth-error.ts'
import type { ClientMetadata } from '@drawbridge/shared/oauth-metadata.ts'
import { checkRedirectUri } from '@drawbridge/shared/redirect-uri.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  type Client,
  type ClientAuthMethod,
  clientAuthMethods,
  type GrantType,
  grantTypes,
} from './client.ts'
import { authorizationServerScopes } from './scope.ts'
import { hashSecret } from './seal.ts'

const maxRedirectUris = 20
const maxNameLength = 200

/** What registration decides: the client to store, and the answer, which alone carries the secret. */
export interface Registration {
  client: Client
  response: ClientMetadata & Record<string, unknown>
}

/** Private-use redirect URIs that are accepted, each by exact match. */
export interface RegistrationPolicy {
  privateUseRedirectUris: readonly string[]
}

/**
 * Turns the metadata of a registration request (RFC 7591 section 2) into a {@link Client}.
 *
 * Unknown members are ignored, unsupported grant types are left out of the answer (RFC 7591 section 2 lets the server
 * replace values). Nothing in the metadata is verified: names and links are the client's own words.
 * Throws `invalid_redirect_uri` or `invalid_client_metadata`.
 */
export function registerClient(
  metadata: unknown,
  policy: RegistrationPolicy,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
): Registration {
  const given = readObject(metadata)
  const redirectUris = readRedirectUris(given['redirect_uris'], policy)
  const authMethod = readAuthMethod(given['token_endpoint_auth_method'])
  const registeredGrantTypes = readGrantTypes(given['grant_types'])
  readResponseTypes(given['response_types'])
  const secret = authMethod === 'none' ? undefined : `mcps_${encodeBase64url(runtime.randomBytes(32))}`
  const client: Client = {
    id: `mcpc_${encodeBase64url(runtime.randomBytes(16))}`,
    kind: 'registered',
    name: readText(given, 'client_name'),
    uri: readLink(given, 'client_uri'),
    redirectUris,
    grantTypes: registeredGrantTypes,
    authMethod,
    secretHash: secret && hashSecret(secret),
    createdAt: runtime.now(),
  }
  return { client, response: registrationResponse(client, secret, readText(given, 'scope', 1000)) }
}

function registrationResponse(
  client: Client,
  secret: string | undefined,
  scope: string | undefined,
): Registration['response'] {
  return {
    client_id: client.id,
    client_id_issued_at: client.createdAt,
    ...(secret && { client_secret: secret, client_secret_expires_at: 0 }),
    ...(client.name && { client_name: client.name }),
    ...(client.uri && { client_uri: client.uri }),
    redirect_uris: [...client.redirectUris],
    grant_types: [...client.grantTypes],
    response_types: ['code'],
    token_endpoint_auth_method: client.authMethod,
    scope: scope ?? authorizationServerScopes.join(' '),
  }
}

function readObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new OAuthError('invalid_client_metadata', 'The registration request must be a JSON object.')
  }
  return value as Record<string, unknown>
}

function readStrings(value: unknown, name: string): string[] | undefined {
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === 'string')) {
    throw new OAuthError('invalid_client_metadata', `${name} must be an array of strings.`)
  }
  return value
}

function readRedirectUris(value: unknown, policy: RegistrationPolicy): string[] {
  const uris = readStrings(value, 'redirect_uris') ?? []
  if (uris.length === 0 || uris.length > maxRedirectUris) {
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

function readAuthMethod(value: unknown): ClientAuthMethod {
  // RFC 7591 section 2: an omitted method means client_secret_basic.
  const method = value ?? 'client_secret_basic'
  const known = clientAuthMethods.find((candidate) => candidate === method)
  if (!known) {
    throw new OAuthError(
      'invalid_client_metadata',
      `token_endpoint_auth_method must be one of ${clientAuthMethods.join(', ')}.`,
    )
  }
  return known
}

function readGrantTypes(value: unknown): GrantType[] {
  // An omitted list would mean authorization_code alone (RFC 7591 section 2). Clients that omit it expect to stay
  // signed in, so only an explicit list without refresh_token goes without one.
  const asked = readStrings(value, 'grant_types') ?? grantTypes
  const supported = grantTypes.filter((type) => asked.includes(type))
  if (!supported.includes('authorization_code')) {
    throw new OAuthError('invalid_client_metadata', 'grant_types must include authorization_code.')
  }
  return supported
}

function readResponseTypes(value: unknown): void {
  const types = readStrings(value, 'response_types')
  if (types && !types.includes('code')) {
    throw new OAuthError('invalid_client_metadata', 'response_types must include code.')
  }
}

function readText(
  given: Record<string, unknown>,
  name: string,
  maxLength = maxNameLength,
): string | undefined {
  const value = given[name]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string' || value.length > maxLength) {
    throw new OAuthError(
      'invalid_client_metadata',
      `${name} must be a string of at most ${maxLength} characters.`,
    )
  }
  return value
}

function readLink(given: Record<string, unknown>, name: string): string | undefined {
  const link = readText(given, name, 2048)
  // A link is shown to people: anything but http(s) is dropped, as a script URL would run on our page.
  return link !== undefined && URL.canParse(link) && /^https?:$/.test(new URL(link).protocol)
    ? link
    : undefined
}
