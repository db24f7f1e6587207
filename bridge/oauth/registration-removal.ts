import type { Credential } from '../credentials/credential.ts'
import { NetworkError } from '../http/http-client.ts'
import { isSafeUrl } from './discovery-url.ts'
import type { OAuthConfig } from './oauth-config.ts'
import { exchangeJson, type OAuthPorts } from './server-exchange.ts'

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
