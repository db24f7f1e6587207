import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { redactSecrets } from '../server-text.ts'
import { type OAuthContext, type OAuthPorts, type ServerResponse, requestJson } from '../server-request.ts'
import { type ClientProof, formEncoded, proveClient } from '../client/client-authentication.ts'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import { NetworkError } from '../../http/http-client.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { type RefreshAnswer, type TokenAnswer, readTokenAnswer } from './token-response.ts'
import { isSameOrigin } from '../discovery/server-url.ts'
import { OAuthFailure } from '../login-port.ts'
import { sendWithQuirks } from './issuer-quirks.ts'

/** Members of an error response that are displayed. */
const texts = ['error', 'error_description', 'msg', 'message', 'detail'] as const

/**
 * Redacts `secrets` from the error texts of a response: servers quote their input, as sent or form-encoded, and error
 * texts end up in logs. Keeps the tokens in the response.
 */
function withoutEchoes(answer: ServerResponse, secrets: readonly string[]): ServerResponse {
  const { json } = answer
  if (!isJsonObject(json)) return answer
  const forms = secrets.flatMap((secret) => [
    secret,
    formEncoded(secret),
    formEncoded(secret).replaceAll('+', '%20'),
  ])
  const cleaned = texts.flatMap((name) => {
    const text = json[name]
    return typeof text === 'string' ? [[name, redactSecrets(text, forms, '[secret]')] as const] : []
  })
  return { ...answer, json: { ...json, ...Object.fromEntries(cleaned) } }
}

/** One authenticated request to an authorization server. */
export interface ClientRequest {
  url: string
  issuer: string
  client: ClientIdentity
  /** Undefined ones are omitted. */
  parameters: Readonly<Record<string, string | undefined>>
}

/**
 * Posts a form with client authentication. Redacts the secrets of the request from the response texts. Rejects with
 * `NetworkError`, or with `OAuthFailure` `client_refused` when the client cannot be authenticated.
 */
export async function postAsClient(
  { url, issuer, client, parameters }: ClientRequest,
  context: OAuthContext,
): Promise<ServerResponse> {
  const proof = await proveClient(client, issuer, context)
  const body = new URLSearchParams(proof.parameters)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) body.set(name, value)
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    ...proof.headers,
  }
  const answer = await requestJson({ method: 'POST', url, headers, body: body.toString() }, context)
  return withoutEchoes(answer, secretsOf(body, proof, client))
}

function secretsOf(
  body: URLSearchParams,
  { headers }: ClientProof,
  { clientSecret }: ClientIdentity,
): string[] {
  const names = [
    'code',
    'code_verifier',
    'refresh_token',
    'device_code',
    'token',
    'client_secret',
    'client_assertion',
  ]
  const basic = headers['authorization']?.split(' ')[1]
  return [clientSecret, basic, ...names.map((name) => body.get(name))].filter(
    (secret) => !!secret,
  ) as string[]
}

/**
 * Sends a token request. Returns every outcome as a value; rejects only when the client cannot be authenticated.
 * `scope` is the requested scope, which counts as granted unless the server says otherwise (RFC 6749 section 5.1).
 */
export async function requestTokens(
  request: ClientRequest & { scope?: string | undefined },
  context: OAuthContext,
): Promise<TokenAnswer> {
  const at = context.runtime.now()
  try {
    const answer = await postAsClient(request, context)
    return readTokenAnswer(answer, { at, scope: request.scope, useIdToken: context.config.useIdToken })
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error
    return { kind: 'unavailable', retryAfterSeconds: undefined, cause: error, sent: error.sent }
  }
}

/**
 * Requests new tokens with the refresh token (RFC 6749 section 6), once, apart from repeats by {@link
 * sendWithQuirks}. Stores and discards nothing. Rejects only with {@link OAuthFailure} `client_refused`, when a
 * private key is missing.
 *
 * Does not check that the refresh token is used only here.
 */
export async function refreshTokens(credential: Credential, context: OAuthContext): Promise<RefreshAnswer> {
  const { config } = context
  const { issuer, tokenEndpoint, tokens, quirks } = credential
  const refreshToken = tokens?.refreshToken
  if (refreshToken === undefined) {
    const description = 'There is no refresh token.'
    return { answer: { kind: 'refused', error: 'invalid_grant', description, status: 400 }, quirks: {} }
  }
  const optional = {
    resource: config.sendResource ? credential.resource : undefined,
    scope: tokens?.scope,
  }
  const client = clientNow(credential, config)
  return await sendWithQuirks(optional, quirks, (sent) => {
    const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken, ...sent }
    return requestTokens({ url: tokenEndpoint, issuer, client, parameters }, context)
  })
}

/**
 * Revokes the tokens (RFC 7009), the refresh token first because most servers end the access token with it. Returns
 * true when the server accepted all; undefined when there is nothing to revoke or no endpoint: tokens are sent only
 * to the host that issued them. Never rejects.
 */
export async function revokeTokens(
  credential: Credential,
  config: OAuthConfig,
  ports: OAuthPorts,
): Promise<boolean | undefined> {
  const { issuer, tokenEndpoint, revocationEndpoint: url, tokens } = credential
  if (url === undefined || tokens === undefined || !isSameOrigin(url, tokenEndpoint)) return undefined
  const client = clientNow(credential, config)
  const context = { ...ports, config, signal: new AbortController().signal }
  const revoke = async (token: string, hint: string): Promise<boolean> => {
    const parameters = { token, token_type_hint: hint }
    try {
      const { status } = await postAsClient({ url, issuer, client, parameters }, context)
      return status >= 200 && status < 300
    } catch (error) {
      if (error instanceof NetworkError || error instanceof OAuthFailure) return false
      throw error
    }
  }
  const { refreshToken, accessToken } = tokens
  const isRefreshRevoked = refreshToken === undefined || (await revoke(refreshToken, 'refresh_token'))
  const isAccessRevoked = await revoke(accessToken, 'access_token')
  // Self-contained access tokens cannot be revoked (RFC 7009 section 2.2.1) and expire soon without their refresh
  // token.
  return refreshToken === undefined ? isAccessRevoked : isRefreshRevoked
}

/** Prefers a secret that the user changed since the sign-in, unless it is for another issuer. */
function clientNow({ client, issuer }: Credential, { staticClient }: OAuthConfig): ClientIdentity {
  if (client.origin !== 'static' || staticClient?.clientId !== client.clientId) return client
  const { clientSecret, issuer: own = issuer } = staticClient
  return clientSecret === undefined || own !== issuer ? client : { ...client, clientSecret }
}
