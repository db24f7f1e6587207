import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { ClientInformation } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Client, type ClientAuthMethod, clientAuthMethods } from './client.ts'
import {
  type ClientMetadataPolicy,
  type DescribedClient,
  invalidMetadata,
  readClientMetadata,
  readMetadataObject,
  requireKeys,
} from './client-metadata.ts'
import { unusedClientSeconds } from './client-life.ts'
import { hashSecret } from '../seal.ts'

/** Result of a registration: the client to store, and the response, which alone contains the secrets. */
export interface Registration {
  client: Client
  response: ClientInformation
}

export interface RegistrationPolicy extends ClientMetadataPolicy {
  /** Returned to a client that requests no `scope`. */
  scope: string
}

export type RegistrationRuntime = Pick<Runtime, 'now' | 'randomBytes'>

/**
 * Turns the metadata of a registration request (RFC 7591 section 3.1) into a {@link Client} that expires in {@link
 * unusedClientSeconds} unless its login page is shown or a user signs in with it.
 *
 * The client chooses neither its id nor its secrets. The response contains everything that was registered, the secret of a
 * confidential client, and the token for managing the registration at `managementUrl` (RFC 7592 section 3). Throws
 * `invalid_redirect_uri` or `invalid_client_metadata`.
 */
export function registerClient(
  metadata: unknown,
  policy: RegistrationPolicy,
  runtime: RegistrationRuntime,
  managementUrl: (clientId: string) => string,
): Registration {
  const given = readMetadataObject(metadata)
  const described = describe(given, policy)
  const secret = newSecret(described.authMethod, runtime)
  const managementToken = `mcpm_${encodeBase64url(runtime.randomBytes(32))}`
  const now = runtime.now()
  const client: Client = {
    ...described,
    id: `mcpc_${encodeBase64url(runtime.randomBytes(16))}`,
    kind: 'registered',
    secretHash: secret && hashSecret(secret),
    managementHash: hashSecret(managementToken),
    document: undefined,
    introspects: false,
    createdAt: now,
    expiresAt: now + unusedClientSeconds,
  }
  return {
    client,
    response: {
      ...withSecret(clientInformation(client, policy.scope), secret),
      registration_client_uri: managementUrl(client.id),
      registration_access_token: managementToken,
    },
  }
}

/**
 * Replaces the metadata of `client` with that of an update request (RFC 7592 section 2.2). The request is complete: omitted members
 * are removed. Id, age and secrets stay; the request may repeat the secret, but not choose one. A client that becomes confidential
 * gets a secret; one that becomes public loses it.
 *
 * Throws `invalid_redirect_uri` or `invalid_client_metadata`, also for members that only the server may set.
 */
export function updateClient(
  client: Client,
  metadata: unknown,
  policy: RegistrationPolicy,
  runtime: RegistrationRuntime,
): Registration {
  const given = readMetadataObject(metadata)
  checkUpdate(client, given)
  const described = describe(given, policy)
  const confidential = usesSecret(described.authMethod)
  const secret = client.secretHash === undefined ? newSecret(described.authMethod, runtime) : undefined
  const updated: Client = {
    ...client,
    ...described,
    secretHash: confidential ? (client.secretHash ?? (secret && hashSecret(secret))) : undefined,
  }
  return { client: updated, response: withSecret(clientInformation(updated, policy.scope), secret) }
}

function withSecret(response: ClientInformation, secret: string | undefined): ClientInformation {
  return secret === undefined ? response : { ...response, client_secret: secret, client_secret_expires_at: 0 }
}

/** All metadata as in a registration response (RFC 7591 section 3.2.1), without secrets: only their hashes are stored. */
export function clientInformation(client: Client, defaultScope: string): ClientInformation {
  const { name, uri, keys } = client
  return {
    client_id: client.id,
    client_id_issued_at: client.createdAt,
    ...(name !== undefined && { client_name: name }),
    ...(uri !== undefined && { client_uri: uri }),
    redirect_uris: [...client.redirectUris],
    grant_types: [...client.grantTypes],
    response_types: client.grantTypes.includes('authorization_code') ? ['code'] : [],
    token_endpoint_auth_method: client.authMethod,
    ...(keys?.kind === 'jwks' && { jwks: { keys: [...keys.keys] } }),
    ...(keys?.kind === 'jwks_uri' && { jwks_uri: keys.uri }),
    scope: client.scope ?? defaultScope,
  }
}

function describe(
  given: JsonObject,
  policy: RegistrationPolicy,
): DescribedClient & Pick<Client, 'authMethod'> {
  const described = readClientMetadata(given, policy)
  const authMethod = readAuthMethod(given['token_endpoint_auth_method'])
  requireKeys(authMethod, described.keys)
  return { ...described, authMethod }
}

/** Throws `invalid_client_metadata` for a method that is not supported. */
export function readAuthMethod(value: unknown): ClientAuthMethod {
  // RFC 7591 section 2: an omitted method means client_secret_basic.
  const method = value ?? 'client_secret_basic'
  const known = clientAuthMethods.find((candidate) => candidate === method)
  if (!known)
    throw invalidMetadata(`token_endpoint_auth_method must be one of ${clientAuthMethods.join(', ')}.`)
  return known
}

/** True when clients of that method share a secret with this server. */
export function usesSecret(method: ClientAuthMethod): boolean {
  return method === 'client_secret_basic' || method === 'client_secret_post'
}

/** Undefined for a method without a secret. */
export function newSecret(
  method: ClientAuthMethod,
  { randomBytes }: Pick<Runtime, 'randomBytes'>,
): string | undefined {
  return usesSecret(method) ? `mcps_${encodeBase64url(randomBytes(32))}` : undefined
}

// RFC 7592 section 2.2: members of this server's responses that an update must not contain.
const serverMembers = [
  'registration_access_token',
  'registration_client_uri',
  'client_secret_expires_at',
  'client_id_issued_at',
]

function checkUpdate(client: Client, given: JsonObject): void {
  if (given['client_id'] !== client.id) throw invalidMetadata('client_id must be that of the updated client.')
  const own = serverMembers.find((name) => name in given)
  if (own !== undefined) throw invalidMetadata(`${own} is set by this server; leave it out.`)
  const secret = given['client_secret']
  if (secret === undefined) return
  const matches =
    typeof secret === 'string' &&
    client.secretHash !== undefined &&
    constantTimeEqual(hashSecret(secret), client.secretHash)
  if (!matches) throw invalidMetadata("client_secret is not this client's; leave it out.")
}
