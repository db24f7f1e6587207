import { type JsonObject, isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { AuthorizationServerMetadata, ClientMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { ClientIdentity } from '../../credentials/credential.ts'
import { deviceGrantType } from '../discovery/server-use.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { browserWall } from '../../http/browser-wall.ts'
import {
  type OAuthContext,
  type ServerResponse,
  busyFailure,
  memberText,
  requestJson,
} from '../server-request.ts'
import { quoteServerError, quoteServerText } from '../server-text.ts'

/** Parameters of a registration. */
export interface RegistrationRequest {
  /** The caller has to check that it is safe. */
  endpoint: string
  metadata: AuthorizationServerMetadata
  grant: 'authorization_code' | 'device_code'
  /** Set for the authorization code grant. */
  redirectUri: string | undefined
  scope: string | undefined
  /** The endpoint is only a guess. */
  isAssumed: boolean
}

type Method = ClientIdentity['tokenEndpointAuthMethod']

/** Returns whether another redirect URI may help: servers name it in many ways, some without an OAuth error. */
function isAboutRedirectUri({ status, json }: ServerResponse): boolean {
  if (status !== 400 && status !== 422) return false
  return /redirect|loopback|localhost|127\.0\.0\.1/i.test(JSON.stringify(json) ?? '')
}

/** Returns whether another method may help: servers refuse public clients too where they list none, or list nothing. */
function isAboutMethod({ status, json }: ServerResponse): boolean {
  if (status !== 400 && status !== 422) return false
  const isUntold = memberText(json, 'error_description') === undefined
  if (isUntold && memberText(json, 'error') === 'invalid_client_metadata') return true
  return /auth\w*[ _-]method|client[ _-]secret|(?:public|confidential)[ _-]client/i.test(
    JSON.stringify(json) ?? '',
  )
}

/** Registers the bridge as a native client (RFC 7591, MCP 2026-07-28 authorization). */
export async function register(request: RegistrationRequest, context: OAuthContext): Promise<ClientIdentity> {
  const { endpoint: url, metadata, grant } = request
  const { config, runtime } = context
  const wanted = clientMetadata(request, config)
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const send = (document: ClientMetadata): Promise<ServerResponse> =>
    requestJson({ method: 'POST', url, headers, body: JSON.stringify(document) }, context)
  let response = await send(wanted)
  // Some servers require a redirect URI, even where none is used.
  const { host, path } = config.callback
  for (const unused of grant === 'device_code' && !wanted.redirect_uris ? new Set([host, 'localhost']) : []) {
    const isVague = memberText(response.json, 'error') === 'invalid_client_metadata'
    if (!isVague && !isAboutRedirectUri(response)) break
    response = await send({ ...wanted, redirect_uris: [`http://${unused}${path}`] })
  }
  let accepted = wanted
  for (const method of otherMethods(wanted, metadata, config)) {
    if (!isAboutMethod(response)) break
    accepted = { ...wanted, token_endpoint_auth_method: method }
    response = await send(accepted)
  }
  const { json, status } = response
  const isRegistered = status >= 200 && status < 300 && isJsonObject(json)
  const client = isRegistered ? readClient(json, accepted, metadata) : undefined
  if (client === undefined) throw registrationFailure(response, request, runtime.now())
  return client
}

function clientMetadata(
  { redirectUri, scope, grant, metadata }: RegistrationRequest,
  config: OAuthConfig,
): ClientMetadata {
  const { token_endpoint_auth_methods_supported: listed } = metadata
  const grantType = grant === 'device_code' ? deviceGrantType : grant
  // A program on the user's computer cannot keep a secret from them.
  const prefersNone = listed === undefined || listed.includes('none')
  return {
    client_name: config.clientName,
    application_type: 'native',
    grant_types: [grantType, 'refresh_token'],
    token_endpoint_auth_method: prefersNone ? 'none' : secretMethod(listed),
    ...(redirectUri === undefined ? {} : { redirect_uris: [redirectUri], response_types: ['code'] }),
    ...(scope === undefined ? {} : { scope }),
    ...config.clientMetadata,
  }
}

/** Prefers the body: servers differ in how they decode the header. */
const secretMethods = ['client_secret_post', 'client_secret_basic'] as const

function secretMethod(listed: readonly string[]): Method {
  return secretMethods.find((method) => listed.includes(method)) ?? 'none'
}

/** Returns the method to try after one was refused that the user did not ask for. */
function otherMethods(
  wanted: ClientMetadata,
  { token_endpoint_auth_methods_supported: listed }: AuthorizationServerMetadata,
  { clientMetadata }: OAuthConfig,
): readonly Method[] {
  if (clientMetadata.token_endpoint_auth_method !== undefined) return []
  const { token_endpoint_auth_method: refused } = wanted
  return secretMethods.filter((name) => name !== refused && listed?.includes(name) !== false)
}

function readClient(
  json: JsonObject,
  wanted: ClientMetadata,
  metadata: AuthorizationServerMetadata,
): ClientIdentity | undefined {
  const { client_id: clientId, client_secret_expires_at: expiresAt } = json
  // RFC 6749 appendix A.1. The value is stored and displayed.
  if (typeof clientId !== 'string' || !/^[\x20-\x7E]+$/.test(clientId)) return undefined
  const clientSecret = memberText(json, 'client_secret')
  const doesExpire = clientSecret !== undefined && typeof expiresAt === 'number' && expiresAt > 0
  return {
    clientId,
    clientSecret,
    tokenEndpointAuthMethod: methodOf(json, clientSecret, wanted, metadata),
    origin: 'dynamic',
    secretExpiresAt: doesExpire ? expiresAt : undefined,
    redirectUris: wanted.redirect_uris,
  }
}

/**
 * Returns the method in the response, or else the requested one. Servers that name no method but return a secret to a
 * client that wanted none expect to see that secret, unless they list `none`.
 */
function methodOf(
  json: JsonObject,
  clientSecret: string | undefined,
  wanted: ClientMetadata,
  { token_endpoint_auth_methods_supported: listed }: AuthorizationServerMetadata,
): Method {
  if (clientSecret === undefined) return 'none'
  const given = json['token_endpoint_auth_method']
  const method = given ?? wanted.token_endpoint_auth_method
  if (method === 'client_secret_basic' || method === 'client_secret_post') return method
  if (given === 'none' || listed?.includes('none') === true) return 'none'
  return secretMethod(listed ?? ['client_secret_basic'])
}

function registrationFailure(
  response: ServerResponse,
  { metadata: { issuer }, isAssumed }: RegistrationRequest,
  now: number,
): OAuthFailure {
  const { status, json } = response
  const name = quoteServerText(issuer)
  const busy = busyFailure(response, `Registering at ${name}`, now, issuer)
  if (busy !== undefined) return busy
  const error = memberText(json, 'error')
  if (error === undefined && isAssumed) {
    return new OAuthFailure('no_metadata', `${name} names no OAuth metadata.`, { issuer })
  }
  const wall = browserWall(response)
  if (wall !== undefined) return new OAuthFailure('blocked', `Registering at ${name}: ${wall}.`, { issuer })
  const what =
    status < 300 ? 'answered without a client_id that can be used' : `answered with status ${status}`
  const text =
    error === undefined
      ? `${name} did not register the bridge: it ${what}.`
      : `${name} refused to register the bridge: ${quoteServerError(error, memberText(json, 'error_description'))}`
  const fault = isAboutRedirectUri(response) ? 'redirect_refused' : 'registration_refused'
  return new OAuthFailure(fault, text, { issuer })
}
