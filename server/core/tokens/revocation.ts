import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Client } from '../clients/client.ts'
import type { Grant, GrantStore, ReportGrantEnd } from '../session/grant.ts'
import { findByFamily } from './refresh-token.ts'
import { accessTokenPrefix, refreshTokenPrefix, tokenKey } from './token-issue.ts'

/** Dependencies of revocation. */
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
  if (token.startsWith(refreshTokenPrefix)) await endGrantOf(client, token, ports)
  else if (token.startsWith(accessTokenPrefix)) await removeAccessToken(client, token, ports)
}

async function endGrantOf(client: Client, refreshToken: string, ports: RevocationPorts): Promise<void> {
  const grant = await findLiveGrant(refreshToken, ports)
  if (!grant) return
  requireOwner(client, grant)
  await endGrant(grant, ports)
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

async function endGrant(grant: Grant, { store, runtime, reportGrantEnd }: RevocationPorts): Promise<void> {
  await store.endGrant(grant.id, 'revoked_by_client', runtime.now())
  reportGrantEnd(grant, 'revoked_by_client')
}

async function removeAccessToken(client: Client, accessToken: string, ports: RevocationPorts): Promise<void> {
  const { store, runtime } = ports
  const accessHash = tokenKey(accessToken)
  const found = await store.findAccessToken(accessHash, runtime.now())
  if (!found) return
  requireOwner(client, found.grant)
  if (client.grantTypes.includes('refresh_token')) await store.removeAccessToken(accessHash)
  else await endGrant(found.grant, ports)
}

function requireOwner(client: Client, grant: { clientId: string }): void {
  if (grant.clientId === client.id) return
  throw new OAuthError('invalid_grant', 'This token was issued to another client.')
}
