import type { Credential } from '../credentials/credential.ts'
import { NetworkError } from '../network/http-client.ts'
import { exchangeJson, type OAuthPorts } from './server-exchange.ts'

/** A client that got tokens this recently is known. */
const freshSeconds = 300

/** What says that the request itself is wrong. Not 403 and 429, which gateways answer to what is no browser. */
const unknownStatuses = new Set([400, 401, 404, 410, 422])

/**
 * Whether the registration of before is in doubt: the server may have forgotten it, and then a person would end at an error
 * page and never come back.
 */
export function isRegistrationInDoubt({ tokens, signInNeeded }: Credential, now: number): boolean {
  return signInNeeded !== undefined || tokens === undefined || now - tokens.issuedAt > freshSeconds
}

/**
 * Opens an authorization request as a browser would, and tells whether the server refuses it by its status: it does not know
 * the client any more, or not this redirect URI. Every other answer, and none at all, means that a person has to look. A code
 * in a redirect is not used. Rejects only when `signal` is aborted.
 */
export async function isRequestRefused(
  url: string,
  { http }: OAuthPorts,
  signal: AbortSignal,
): Promise<boolean> {
  const headers = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
  try {
    const { status } = await exchangeJson({ method: 'GET', url, headers }, http, signal)
    return unknownStatuses.has(status)
  } catch (error) {
    if (signal.aborted || !(error instanceof NetworkError)) throw error
    return false
  }
}
