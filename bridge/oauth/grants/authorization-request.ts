import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { ClientIdentity } from '../../credentials/credential.ts'
import { NetworkError } from '../../http/http-client.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { type OAuthContext, type ServerResponse, requestJson } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { refusal } from '../tokens/token-response.ts'
import type { GrantRequest } from './grant.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

export type AuthorizationSecrets = Awaited<ReturnType<typeof createAuthorizationSecrets>>

/** Creates values that bind one authorization request to its response: secrets of 256 bits each. */
export async function createAuthorizationSecrets({ randomBytes }: Pick<Runtime, 'randomBytes'>) {
  const codeVerifier = createCodeVerifier(randomBytes)
  const codeChallenge = await deriveCodeChallenge(codeVerifier)
  return { state: encodeBase64url(randomBytes(32)), codeVerifier, codeChallenge }
}

/**
 * Builds the URL for the user to open (RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 8707 section 2). Parameters of the
 * user may replace `scope` and `resource`, but nothing that the security of the sign-in depends on.
 */
export function authorizationUrl(
  { server, scope }: GrantRequest,
  { clientId }: ClientIdentity,
  { state, codeChallenge }: AuthorizationSecrets,
  redirectUri: string,
  { authorizeParameters }: OAuthConfig,
): string {
  const url = new URL(server.metadata.authorization_endpoint ?? '')
  const parameters = {
    scope,
    resource: server.resource,
    ...authorizeParameters,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url.href
}

/**
 * Returns the code of an authorization response whose `state` was checked (RFC 6749 section 4.1.2). Throws `issuer_mismatch`
 * when `iss` does not spell the known issuer, or is missing although announced (RFC 9207 section 2.4, MCP
 * 2026-07-28 authorization); nothing of that response is then displayed, since its sender is unknown.
 */
export function readAuthorizationResponse(
  parameters: URLSearchParams,
  { server: { metadata, askedFor } }: GrantRequest,
  { acceptIssuer }: Pick<OAuthConfig, 'acceptIssuer'>,
): string {
  const { issuer, authorization_response_iss_parameter_supported: sendsIss = false } = metadata
  const given = parameters.getAll('iss')
  const isMissing = given.length === 0 && sendsIss
  const isFrom = (iss: string): boolean =>
    iss === issuer || iss === askedFor || isSameIssuer(iss, acceptIssuer)
  if (isMissing || !given.every(isFrom) || given.length > 1) {
    const what = isMissing ? 'does not say which server it is from' : 'is from another server'
    const text = `The response to the sign-in at ${quoteServerText(issuer)} ${what}.`
    throw new OAuthFailure('issuer_mismatch', text, { issuer })
  }
  const error = parameters.get('error')
  if (error !== null) throw refusal(error, parameters.get('error_description') ?? undefined, issuer)
  const [code, ...more] = parameters.getAll('code')
  if (code !== undefined && code !== '' && more.length === 0) return code
  const text = `${quoteServerText(issuer)} sent the browser back without a code.`
  throw new OAuthFailure('refused', text, { issuer })
}

/** A client that got tokens this recently counts as known. */
const freshSeconds = 300

/** Statuses that mean that the request itself is wrong. Not 403 and 429, which gateways return to non-browsers. */
const unknownStatuses = new Set([400, 401, 404, 410, 422])

/** Errors returned through the browser when the authorization server rejects the client. */
const clientErrors = new Set(['invalid_client', 'unauthorized_client'])

/**
 * Returns whether the server may have forgotten a registration or refuse a document: the user would then be stuck at an error
 * page. False for a client that got tokens a moment ago, unless the user explicitly signs in again.
 */
export function isClientInDoubt(
  { clientId }: ClientIdentity,
  { previous, isForced, server }: GrantRequest,
  now: number,
): boolean {
  if (isForced || previous === undefined || !isSameIssuer(previous.issuer, server.metadata.issuer))
    return true
  const { client, tokens, signInNeeded } = previous
  if (client.clientId !== clientId || signInNeeded !== undefined || tokens === undefined) return true
  return now - tokens.issuedAt > freshSeconds
}

/**
 * Opens an authorization request as a browser would, and returns whether the server refuses it by its status or by the error
 * in its redirect. Any other response, or none, leaves it to the user. Does not use a code in a redirect.
 */
export async function isRequestRefused(
  url: string,
  client: ClientIdentity,
  redirectUri: string,
  context: OAuthContext,
): Promise<boolean> {
  const headers = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
  try {
    const answer = await requestJson({ method: 'GET', url, headers }, context)
    // A server that accepts documents only from some hosts returns 403; if a gateway sent it, registering does no
    // harm.
    const isForbidden = answer.status === 403 && client.origin === 'metadata_document'
    return isForbidden || unknownStatuses.has(answer.status) || sendsBackRefused(answer, url, redirectUri)
  } catch (error) {
    if (context.signal.aborted || !(error instanceof NetworkError)) throw error
    return false
  }
}

function sendsBackRefused({ status, headers }: ServerResponse, from: string, redirectUri: string): boolean {
  const { location } = headers
  if (status < 300 || status > 399 || typeof location !== 'string' || !isUrl(location, from)) return false
  const [target, own] = [new URL(location, from), new URL(redirectUri)]
  const isBack = target.origin === own.origin && target.pathname === own.pathname
  return isBack && clientErrors.has(target.searchParams.get('error') ?? '')
}
