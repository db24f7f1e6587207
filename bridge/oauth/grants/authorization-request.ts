import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { OAuthFailure } from '../login-port.ts'
import { quoteServerText } from '../server-text.ts'
import { refusal } from '../tokens/token-response.ts'
import type { ClientIdentity } from '../../credentials/credential.ts'
import { NetworkError } from '../../http/http-client.ts'
import { type OAuthPorts, type ServerAnswer, exchangeJson } from '../server-exchange.ts'
import type { GrantRequest } from './grant.ts'

/** What binds one authorization request to its response. Secret. */
export interface AuthorizationSecrets {
  state: string
  codeVerifier: string
  codeChallenge: string
}

/** New ones, 256 bits each. */
export async function createAuthorizationSecrets({
  randomBytes,
}: Pick<Runtime, 'randomBytes'>): Promise<AuthorizationSecrets> {
  const codeVerifier = createCodeVerifier(randomBytes)
  return {
    state: encodeBase64url(randomBytes(32)),
    codeVerifier,
    codeChallenge: await deriveCodeChallenge(codeVerifier),
  }
}

/** What an authorization request asks for. */
interface AuthorizationRequest {
  endpoint: string
  clientId: string
  redirectUri: string
  scope: string | undefined
  resource: string | undefined
  /** Of the user. They may replace `scope` and `resource`, and nothing that the safety of the sign-in rests on. */
  more: Readonly<Record<string, string>>
}

/**
 * The URL that a person has to open (RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 8707 section 2). A query that the
 * endpoint has is kept.
 */
export function authorizationUrl(
  request: AuthorizationRequest,
  { state, codeChallenge }: AuthorizationSecrets,
): string {
  const url = new URL(request.endpoint)
  const parameters = {
    scope: request.scope,
    resource: request.resource,
    ...request.more,
    response_type: 'code',
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url.href
}

/** What was written down before the browser was sent away (RFC 9207 section 2.4). */
interface ExpectedIssuer {
  issuer: string
  /** `authorization_response_iss_parameter_supported`. */
  sendsIss: boolean
}

/**
 * The code of an authorization response whose `state` was checked. Throws {@link OAuthFailure}: `issuer_mismatch` when `iss`
 * is another one, or is missing where it was announced - and then nothing of what the response says is shown, since
 * somebody else may have written it - `access_denied`, `scope_refused`, `client_refused`, `unavailable` or `refused` (RFC
 * 6749 section 4.1.2, RFC 9207 section 2.4, MCP 2026-07-28 authorization).
 */
export function readAuthorizationResponse(
  parameters: URLSearchParams,
  { issuer, sendsIss }: ExpectedIssuer,
): string {
  const given = parameters.getAll('iss')
  const isMissing = given.length === 0 && sendsIss
  if (isMissing || given.some((iss) => iss !== issuer) || given.length > 1) {
    const what = isMissing ? 'does not say which server it is from' : 'is from another server'
    throw new OAuthFailure(
      'issuer_mismatch',
      `The response to the sign-in at ${quoteServerText(issuer)} ${what}.`,
      {
        issuer,
      },
    )
  }
  const error = parameters.get('error')
  if (error !== null) {
    throw refusal(error, parameters.get('error_description') ?? undefined, { issuer })
  }
  const [code, ...more] = parameters.getAll('code')
  if (code === undefined || code === '' || more.length > 0) {
    throw new OAuthFailure('refused', `${quoteServerText(issuer)} sent the browser back without a code.`, {
      issuer,
    })
  }
  return code
}

/** A client that got tokens this recently is known. */
const freshSeconds = 300

/** What says that the request itself is wrong. Not 403 and 429, which gateways answer to what is no browser. */
const unknownStatuses = new Set([400, 401, 404, 410, 422])

/** Errors that an authorization server sends the browser back with when it does not take the client. */
const clientErrors = new Set(['invalid_client', 'unauthorized_client'])

/**
 * Whether nobody knows if the server still takes this client: a registration may be forgotten, a document refused, and then
 * a person would end at an error page and never come back. Not of a client that got tokens a moment ago, unless a person
 * signs in anew all the same.
 */
export function isClientInDoubt(
  { clientId }: ClientIdentity,
  { previous, isForced, server }: Pick<GrantRequest, 'previous' | 'isForced' | 'server'>,
  now: number,
): boolean {
  if (isForced || previous === undefined || previous.issuer !== server.metadata.issuer) return true
  const { client, tokens, signInNeeded } = previous
  if (client.clientId !== clientId || signInNeeded !== undefined || tokens === undefined) return true
  return now - tokens.issuedAt > freshSeconds
}

/**
 * Opens an authorization request as a browser would, and tells whether the server refuses it, by its status or by the error
 * that it sends the browser back with: it does not know the client any more, does not take it, or not this redirect URI.
 * Every other answer, and none at all, means that a person has to look. A code in a redirect is not used. Rejects only when
 * `signal` is aborted.
 */
export async function isRequestRefused(
  { url, client, redirectUri }: { url: string; client: ClientIdentity; redirectUri: string },
  { http }: OAuthPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const headers = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
  try {
    const answer = await exchangeJson({ method: 'GET', url, headers }, http, signal)
    // A server that takes documents of some hosts only says 403, and a registration does as well for a gateway that says it.
    const isForbidden = answer.status === 403 && client.origin === 'metadata_document'
    return isForbidden || unknownStatuses.has(answer.status) || sendsBackRefused(answer, url, redirectUri)
  } catch (error) {
    if (signal.aborted || !(error instanceof NetworkError)) throw error
    return false
  }
}

function sendsBackRefused({ status, headers }: ServerAnswer, from: string, redirectUri: string): boolean {
  const { location } = headers
  if (status < 300 || status > 399 || typeof location !== 'string' || !URL.canParse(location, from))
    return false
  const [target, own] = [new URL(location, from), new URL(redirectUri)]
  const isBack = target.origin === own.origin && target.pathname === own.pathname
  return isBack && clientErrors.has(target.searchParams.get('error') ?? '')
}
