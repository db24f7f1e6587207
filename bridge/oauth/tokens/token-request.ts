import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { ClientIdentity, Credential, IssuerQuirks } from '../../credentials/credential.ts'
import { NetworkError } from '../../http/http-client.ts'
import { type ClientProof, formEncoded, proveClient } from '../client/client-authentication.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { type OAuthContext, type ServerResponse, requestJson } from '../server-request.ts'
import { redactSecrets } from '../server-text.ts'
import { type TokenAnswer, readTokenAnswer } from './token-response.ts'

/** One authenticated request to an authorization server. */
export interface ClientRequest {
  url: string
  issuer: string
  client: ClientIdentity
  /** Undefined ones are omitted. */
  parameters: Readonly<Record<string, string | undefined>>
}

/** Posts a form with client authentication. Redacts the secrets of the request from the response texts. */
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

function secretsOf(body: URLSearchParams, { headers }: ClientProof, client: ClientIdentity): string[] {
  const sent = [
    'code',
    'code_verifier',
    'refresh_token',
    'device_code',
    'token',
    'client_secret',
    'client_assertion',
  ].map((name) => body.get(name))
  const basic = headers['authorization']?.split(' ')[1]
  return [client.clientSecret, basic, ...sent].filter((secret) => !!secret) as string[]
}

/** Members of an error response that are displayed. */
const texts = ['error', 'error_description', 'msg', 'message', 'detail'] as const

/**
 * Redacts `secrets` from the error texts of a response: servers quote their input, as sent or form-encoded, and error
 * texts end up in logs. Keeps the tokens in the response.
 */
function withoutEchoes(answer: ServerResponse, secrets: readonly string[]): ServerResponse {
  const { json } = answer
  if (!isJsonObject(json)) return answer
  const forms = secrets.flatMap((secret) => {
    const encoded = formEncoded(secret)
    return [secret, encoded, encoded.replaceAll('+', '%20')]
  })
  const cleaned = texts.flatMap((name) => {
    const text = json[name]
    return typeof text === 'string' ? [[name, redactSecrets(text, forms, '[secret]')] as const] : []
  })
  return { ...answer, json: { ...json, ...Object.fromEntries(cleaned) } }
}

/** A token request, with the parameters on which issuers differ. */
interface TokenRequest extends ClientRequest {
  resource: string | undefined
  /** Sent only to issuers that require it. */
  optionalScope?: string | undefined
  /** The requested scope, which counts as granted unless the server says otherwise (RFC 6749 section 5.1). */
  scope?: string | undefined
  /** Known quirks of the issuer. */
  quirks: IssuerQuirks | undefined
}

/**
 * Sends a token request in the form that its issuer is known to want, and repeats it without `resource`, or with the scope,
 * when the refusal suggests it. The quirks of issued tokens include all earlier ones and the form that worked.
 */
export async function requestTokens(request: TokenRequest, context: OAuthContext): Promise<TokenAnswer> {
  const quirks: IssuerQuirks = { ...request.quirks }
  for (;;) {
    const sent = {
      resource: quirks.refusesResource === true ? undefined : request.resource,
      scope: quirks.wantsScopeAtRefresh === true ? request.optionalScope : request.parameters['scope'],
    }
    const parameters = { ...request.parameters, ...sent }
    const answer = await requestOnce({ ...request, parameters }, context)
    if (answer.kind === 'issued') return { ...answer, quirks }
    const subject = answer.kind === 'refused' ? subjectOf(answer) : undefined
    if (subject === 'resource' && sent.resource !== undefined) quirks.refusesResource = true
    else if (subject === 'scope' && sent.scope === undefined && request.optionalScope !== undefined) {
      quirks.wantsScopeAtRefresh = true
    } else return answer
  }
}

/** Returns the parameter that a refusal is about. */
function subjectOf({
  error,
  description = '',
}: Extract<TokenAnswer, { kind: 'refused' }>): string | undefined {
  // Entra: the resource does not match the scopes and has to be written differently when sent.
  if (error === 'invalid_target' || /\bAADSTS9010010\b/.test(description)) return 'resource'
  return /\bAADSTS90009\b/.test(description) ? 'scope' : undefined
}

async function requestOnce(request: TokenRequest, context: OAuthContext): Promise<TokenAnswer> {
  const at = context.runtime.now()
  try {
    const answer = await postAsClient(request, context)
    return readTokenAnswer(answer, { at, scope: request.scope, useIdToken: context.config.useIdToken })
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error
    return { kind: 'unavailable', retryAfterSeconds: undefined, cause: error, sent: error.sent }
  }
}

/** Requests new tokens with the refresh token (RFC 6749 section 6). Does not check that it is used only here. */
export async function refreshTokens(credential: Credential, context: OAuthContext): Promise<TokenAnswer> {
  const { config } = context
  const { issuer, tokenEndpoint: url, tokens, quirks } = credential
  if (tokens?.refreshToken === undefined) {
    return { kind: 'refused', error: 'invalid_grant', description: 'There is no refresh token.' }
  }
  const parameters = { grant_type: 'refresh_token', refresh_token: tokens.refreshToken }
  const resource = config.sendResource ? credential.resource : undefined
  const client = clientNow(credential, config)
  const request = { url, issuer, client, parameters, resource, optionalScope: tokens.scope, quirks }
  return await requestTokens(request, context)
}

/** Prefers a secret that the user changed since the sign-in, unless it is for another issuer. */
export function clientNow({ client, issuer }: Credential, { staticClient }: OAuthConfig): ClientIdentity {
  if (client.origin !== 'static' || staticClient?.clientId !== client.clientId) return client
  const { clientSecret, issuer: own = issuer } = staticClient
  return clientSecret === undefined || !isSameIssuer(own, issuer) ? client : { ...client, clientSecret }
}
