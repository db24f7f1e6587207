import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Client } from '../clients/client.ts'
import type { Grant, GrantStore, ReportGrantEnd } from '../session/grant.ts'
import { findByFamily } from './refresh-token.ts'
import { accessTokenPrefix, refreshTokenPrefix, tokenKey } from './token-issue.ts'

export interface RevocationPorts {
  store: GrantStore
  runtime: Pick<Runtime, 'now'>
  reportGrantEnd: ReportGrantEnd
}

/**
 * Revokes `token` for its client (RFC 7009 section 2.1), at once and at every instance.
 *
 * A refresh token, used or not, ends its whole grant, and the provider session is signed out. An access token is revoked alone,
 * unless the client has no refresh tokens: then its otherwise unused grant ends too. An unknown, expired or revoked token is not
 * an error (section 2.2). Throws `invalid_grant` for a live token of another client (RFC 6749 section 5.2), which stays valid.
 * Ignores the token type hint, since tokens name their type.
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
