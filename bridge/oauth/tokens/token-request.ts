import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { redactSecrets } from '../server-text.ts'
import { type OAuthPorts, type ServerAnswer, exchangeJson } from '../server-exchange.ts'
import { type ClientProof, formEncoded, proveClient } from '../client/client-authentication.ts'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import { NetworkError } from '../../http/http-client.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { type RefreshAnswer, type TokenAnswer, readTokenAnswer } from './token-response.ts'
import { isSafeUrl } from '../discovery/document.ts'
import { OAuthFailure } from '../login-port.ts'
import { sendWithQuirks } from './issuer-quirks.ts'

/** The members of an error that are shown to people. */
const texts = ['error', 'error_description', 'msg', 'message', 'detail'] as const

/** What is done about these depends on every letter, and a secret may be as short as one. */
const knownCodes: ReadonlySet<string> = new Set([
  'access_denied',
  'authorization_pending',
  'expired_token',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'server_error',
  'slow_down',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
])

/**
 * An answer whose error texts do not repeat any of `secrets`: servers quote what they were sent, as it was or as it stood in
 * the form, and error texts end in logs. Tokens that the answer brings are as they were.
 */
function withoutEchoes(answer: ServerAnswer, secrets: readonly string[]): ServerAnswer {
  const { json } = answer
  if (!isJsonObject(json)) return answer
  const forms = secrets.flatMap((secret) => [
    secret,
    formEncoded(secret),
    formEncoded(secret).replaceAll('+', '%20'),
  ])
  const clean = (text: string): string => redactSecrets(text, forms, '[secret]')
  const cleaned = texts.flatMap((name) => {
    const text = json[name]
    const isMeant = typeof text === 'string' && !(name === 'error' && knownCodes.has(text))
    return isMeant ? [[name, clean(text)] as const] : []
  })
  return { ...answer, json: { ...json, ...Object.fromEntries(cleaned) } }
}

/** One request as a client of an authorization server. */
export interface ClientRequest {
  url: string
  issuer: string
  client: ClientIdentity
  /** Those that are undefined are left out. */
  parameters: Readonly<Record<string, string | undefined>>
}

/**
 * Posts a form with the proof of the client. What was secret in the request is not in the texts of the answer. Rejects with
 * `NetworkError`, or with `OAuthFailure` `client_refused` when the client cannot be proved.
 */
export async function postAsClient(
  { url, issuer, client, parameters }: ClientRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal | undefined,
): Promise<ServerAnswer> {
  const proof = proveClient(client, issuer, config, ports)
  const body = new URLSearchParams(proof.parameters)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) body.set(name, value)
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
    ...proof.headers,
  }
  const request = { method: 'POST' as const, url, headers, body: body.toString() }
  const answer = await exchangeJson(request, ports.http, signal)
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
 * Asks a token endpoint. Everything that can happen there is an answer; rejects only when the client cannot be proved.
 * `scope` is what was asked for: it is what was granted, if the server does not say otherwise (RFC 6749 section 5.1).
 */
export async function requestTokens(
  request: ClientRequest & { scope?: string | undefined },
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal | undefined,
): Promise<TokenAnswer> {
  const at = ports.runtime.now()
  try {
    const answer = await postAsClient(request, config, ports, signal)
    return readTokenAnswer(answer, { at, scope: request.scope, useIdToken: config.useIdToken })
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error
    return { kind: 'unavailable', retryAfterSeconds: undefined, cause: error, sent: error.sent }
  }
}

/**
 * Asks for new tokens with the refresh token (RFC 6749 section 6), once, apart from what {@link sendWithQuirks} repeats.
 * Keeps and throws away nothing. Rejects only with {@link OAuthFailure} `client_refused`, when a private key is missing.
 *
 * Not checked: that nobody else uses the same refresh token now.
 */
export async function refreshTokens(
  credential: Credential,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal?: AbortSignal,
): Promise<RefreshAnswer> {
  const { issuer, tokenEndpoint, tokens, quirks } = credential
  const refreshToken = tokens?.refreshToken
  if (refreshToken === undefined) {
    const description = 'There is no refresh token.'
    return {
      answer: { kind: 'refused', error: 'invalid_grant', description, status: 400 },
      quirks: { ...quirks },
    }
  }
  const optional = {
    resource: config.sendResource ? credential.resource : undefined,
    scope: tokens?.scope,
  }
  const client = clientNow(credential, config)
  return await sendWithQuirks(optional, quirks, (sent) => {
    const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken, ...sent }
    return requestTokens({ url: tokenEndpoint, issuer, client, parameters }, config, ports, signal)
  })
}

/**
 * Gives the tokens back (RFC 7009): the refresh token first, because with it most servers end the access token too. True
 * when the server took them all; undefined when there is nothing to give back, or nowhere. Never rejects.
 */
export async function revokeTokens(
  credential: Credential,
  config: OAuthConfig,
  ports: OAuthPorts,
): Promise<boolean | undefined> {
  const { issuer, revocationEndpoint: url, tokens } = credential
  if (url === undefined || tokens === undefined || !isSafeUrl(url, issuer, config.allowHttp)) return undefined
  const client = clientNow(credential, config)
  const revoke = async (token: string, hint: string): Promise<boolean> => {
    const parameters = { token, token_type_hint: hint }
    try {
      const { status } = await postAsClient({ url, issuer, client, parameters }, config, ports, undefined)
      return status >= 200 && status < 300
    } catch (error) {
      if (error instanceof NetworkError || error instanceof OAuthFailure) return false
      throw error
    }
  }
  const { refreshToken, accessToken } = tokens
  const isRefreshRevoked = refreshToken === undefined || (await revoke(refreshToken, 'refresh_token'))
  const isAccessRevoked = await revoke(accessToken, 'access_token')
  // Self-contained access tokens cannot be revoked (RFC 7009 section 2.2.1), and end soon without their refresh token.
  return refreshToken === undefined ? isAccessRevoked : isRefreshRevoked
}

/** A secret that the user changed since the sign-in is the one that counts, unless it is for another issuer. */
function clientNow({ client, issuer }: Credential, { staticClient }: OAuthConfig): ClientIdentity {
  if (client.origin !== 'static' || staticClient?.clientId !== client.clientId) return client
  const { clientSecret, issuer: own = issuer } = staticClient
  return clientSecret === undefined || own !== issuer ? client : { ...client, clientSecret }
}
