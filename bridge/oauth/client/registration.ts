import { type JsonObject, isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { AuthorizationServerMetadata, ClientMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import { retryAfterSeconds } from '../../http/retry-after.ts'
import { isSafeUrl } from '../discovery/document.ts'
import { deviceGrantType } from '../discovery/discovery.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { type OAuthPorts, type ServerAnswer, exchangeJson } from '../server-exchange.ts'
import { quoteServerError, quoteServerText } from '../server-text.ts'
import { NetworkError } from '../../http/http-client.ts'

/** What a registration is for. */
export interface RegistrationRequest {
  /** Not checked: that it is safe to go to. */
  endpoint: string
  metadata: AuthorizationServerMetadata
  grant: 'authorization_code' | 'device_code'
  /** Of the authorization code grant. */
  redirectUri: string | undefined
  scope: string | undefined
  /** The endpoint was only guessed. */
  isAssumed: boolean
}

type Method = ClientIdentity['tokenEndpointAuthMethod']

const grantTypes = {
  authorization_code: 'authorization_code',
  device_code: deviceGrantType,
} as const

/** What servers say that register nobody without a redirect URI, also where none is ever used. */
const wantsRedirectUri: ReadonlySet<unknown> = new Set(['invalid_redirect_uri', 'invalid_client_metadata'])

/**
 * Registers the bridge as a native client (RFC 7591, MCP 2026-07-28 authorization). Rejects with {@link OAuthFailure}
 * `registration_refused`, `unavailable`, or `no_metadata` when nobody registers clients there, or with `NetworkError`.
 */
export async function register(
  request: RegistrationRequest,
  config: OAuthConfig,
  { http, runtime }: OAuthPorts,
  signal: AbortSignal,
): Promise<ClientIdentity> {
  const { endpoint, metadata, grant } = request
  const wanted = clientMetadata(request, config)
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const send = (document: ClientMetadata): Promise<ServerAnswer> => {
    const body = JSON.stringify(document)
    return exchangeJson({ method: 'POST', url: endpoint, headers, body }, http, signal)
  }
  let answer = await send(wanted)
  const isBare = grant === 'device_code' && wanted.redirect_uris === undefined
  if (
    isBare &&
    answer.status === 400 &&
    isJsonObject(answer.json) &&
    wantsRedirectUri.has(answer.json['error'])
  ) {
    const { host, path } = config.callback
    answer = await send({ ...wanted, redirect_uris: [`http://${host}${path}`] })
  }
  const { json, status } = answer
  if (status >= 200 && status < 300 && isJsonObject(json)) {
    const client = readClient(json, wanted, metadata, config)
    if (client !== undefined) return client
  }
  throw registrationFailure(answer, request, runtime.now())
}

function clientMetadata(request: RegistrationRequest, config: OAuthConfig): ClientMetadata {
  const { redirectUri, scope, grant } = request
  return {
    client_name: 'Drawbridge',
    application_type: 'native',
    grant_types: [grantTypes[grant], 'refresh_token'],
    token_endpoint_auth_method: preferredMethod(request.metadata),
    ...(redirectUri === undefined ? {} : { redirect_uris: [redirectUri], response_types: ['code'] }),
    ...(scope === undefined ? {} : { scope }),
    ...config.clientMetadata,
  }
}

/** None: what is on a person's computer keeps no secret from them. */
function preferredMethod({
  token_endpoint_auth_methods_supported: listed,
}: AuthorizationServerMetadata): Method {
  if (listed === undefined || listed.includes('none')) return 'none'
  return secretMethod(listed) ?? 'none'
}

function secretMethod(listed: readonly string[]): Method | undefined {
  return (['client_secret_basic', 'client_secret_post'] as const).find((method) => listed.includes(method))
}

function readClient(
  json: JsonObject,
  wanted: ClientMetadata,
  metadata: AuthorizationServerMetadata,
  { allowHttp }: OAuthConfig,
): ClientIdentity | undefined {
  const { client_id: clientId, client_secret: secret } = json
  // RFC 6749 appendix A.1. It is stored, and shown.
  if (typeof clientId !== 'string' || !/^[\x20-\x7E]+$/.test(clientId)) return undefined
  const clientSecret = typeof secret === 'string' && secret !== '' ? secret : undefined
  const expiresAt = json['client_secret_expires_at']
  return {
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    tokenEndpointAuthMethod: methodOf(json, clientSecret, wanted, metadata),
    origin: 'dynamic',
    ...(clientSecret !== undefined && typeof expiresAt === 'number' && expiresAt > 0
      ? { secretExpiresAt: expiresAt }
      : {}),
    ...managementOf(json, metadata.issuer, allowHttp),
    ...(wanted.redirect_uris === undefined ? {} : { redirectUris: wanted.redirect_uris }),
  }
}

/** How the registration can be removed (RFC 7592 section 3); empty where the server has no way that is safe. */
function managementOf(
  { registration_client_uri: uri, registration_access_token: token }: JsonObject,
  issuer: string,
  allowHttp: boolean,
): Pick<ClientIdentity, 'registrationClientUri' | 'registrationAccessToken'> {
  const isUsable = typeof uri === 'string' && isSafeUrl(uri, issuer, allowHttp)
  if (!isUsable || typeof token !== 'string' || !/^[\x21-\x7E]+$/.test(token)) return {}
  return { registrationClientUri: uri, registrationAccessToken: token }
}

/**
 * What the answer says, else what was asked for. Servers that say nothing and hand out a secret to a client that wanted
 * none expect to see it, unless they list `none`.
 */
function methodOf(
  json: JsonObject,
  clientSecret: string | undefined,
  wanted: ClientMetadata,
  { token_endpoint_auth_methods_supported: listed }: AuthorizationServerMetadata,
): Method {
  if (clientSecret === undefined) return 'none'
  const said = json['token_endpoint_auth_method'] ?? wanted.token_endpoint_auth_method
  if (said === 'client_secret_basic' || said === 'client_secret_post') return said
  if (json['token_endpoint_auth_method'] === 'none' || listed?.includes('none') === true) return 'none'
  return secretMethod(listed ?? ['client_secret_basic']) ?? 'none'
}

function registrationFailure(
  { status, headers, json }: ServerAnswer,
  { metadata: { issuer }, isAssumed }: RegistrationRequest,
  now: number,
): OAuthFailure {
  const name = quoteServerText(issuer)
  if (status === 429 || status >= 500) {
    const seconds = retryAfterSeconds(headers, now)
    return new OAuthFailure('unavailable', `Registering at ${name} answered with status ${status}.`, {
      issuer,
      ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
    })
  }
  const { error, error_description: description } = isJsonObject(json) ? json : {}
  if (typeof error === 'string') {
    const said = quoteServerError(error, typeof description === 'string' ? description : undefined)
    return new OAuthFailure('registration_refused', `${name} refused to register the bridge: ${said}`, {
      issuer,
    })
  }
  if (isAssumed) return new OAuthFailure('no_metadata', `${name} names no OAuth metadata.`, { issuer })
  const what =
    status < 300 ? 'answered without a client_id that can be used' : `answered with status ${status}`
  return new OAuthFailure('registration_refused', `${name} did not register the bridge: it ${what}.`, {
    issuer,
  })
}

/** Somebody waits for it, and nothing depends on it. */
const limitMs = 5000

/**
 * Removes the registration of a login that is given up (RFC 7592 section 2.3). True when the server did; undefined when there
 * is none of ours, or the server did not say how. Never rejects for what the server does.
 */
export async function removeRegistration(
  { client, issuer }: Credential,
  { allowHttp }: OAuthConfig,
  { http }: OAuthPorts,
): Promise<boolean | undefined> {
  const { origin, registrationClientUri: url, registrationAccessToken: token } = client
  if (origin !== 'dynamic' || url === undefined || token === undefined) return undefined
  if (!isSafeUrl(url, issuer, allowHttp)) return undefined
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
  try {
    const request = { method: 'DELETE' as const, url, headers }
    const { status } = await exchangeJson(request, http, AbortSignal.timeout(limitMs))
    return status >= 200 && status < 300
  } catch (error) {
    if (error instanceof NetworkError) return false
    throw error
  }
}
