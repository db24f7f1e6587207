import type { ClientIdentity } from '../credentials/credential.ts'
import { NetworkError } from '../http/http-client.ts'
import { exchangeJson, type OAuthPorts, type ServerAnswer } from './server-exchange.ts'
import type { GrantRequest } from './sign-in-flow-grant.ts'

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
