import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Client } from '../clients/client.ts'
import type { Grant, GrantStore, ReportGrantEnd } from '../session/grant.ts'
import { findByFamily } from './refresh-token.ts'
import { accessTokenPrefix, refreshTokenPrefix, tokenKey } from './token-issue.ts'

export interface RevocationPorts {
  store: Pick<
    GrantStore,
    'findAccessToken' | 'findRefreshToken' | 'findGrantByFamily' | 'endGrant' | 'removeAccessToken'
  >
  runtime: Pick<Runtime, 'now'>
  reportGrantEnd: ReportGrantEnd
}

/**
 * Revokes `token` for its client (RFC 7009 section 2.1), at once and at every instance.
 *
 * Revoking a refresh token ends its whole grant, other tokens included, and signs the provider session out; this also applies to a
 * refresh token that already has a successor. An access token is revoked alone, unless the client has no refresh tokens: then its
 * otherwise unused grant ends too. An unknown, expired or revoked token is not an error (section 2.2). Throws `invalid_grant` for a
 * live token of another client, which stays valid: in the words of RFC 6749 section 5.2, it "was issued to another client".
 *
 * Ignores the token type hint, since tokens name their type. An access token that a replayed refresh returns again is the revoked
 * one, and stays invalid.
 */
export async function revokeToken(client: Client, token: string, ports: RevocationPorts): Promise<void> {
  const { store, runtime, reportGrantEnd } = ports
  const isAccessToken = token.startsWith(accessTokenPrefix)
  const grant = isAccessToken
    ? (await store.findAccessToken(tokenKey(token), runtime.now()))?.grant
    : token.startsWith(refreshTokenPrefix)
      ? await findLiveGrant(token, ports)
      : undefined
  if (!grant) return
  if (grant.clientId !== client.id)
    throw new OAuthError('invalid_grant', 'This token was issued to another client.')
  if (isAccessToken && client.grantTypes.includes('refresh_token')) {
    await store.removeAccessToken(tokenKey(token))
    return
  }
  await store.endGrant(grant.id, 'revoked_by_client', runtime.now())
  reportGrantEnd(grant, 'revoked_by_client')
}

async function findLiveGrant(
  refreshToken: string,
  { store, runtime }: RevocationPorts,
): Promise<Grant | undefined> {
  const stored = await store.findRefreshToken(tokenKey(refreshToken))
  const collected = stored ? undefined : await findByFamily(refreshToken, store)
  const grant = (stored ?? collected)?.grant
  const isEnded = stored?.endReason !== undefined || collected?.end !== undefined
  return grant && !isEnded && grant.expiresAt > runtime.now() ? grant : undefined
}
