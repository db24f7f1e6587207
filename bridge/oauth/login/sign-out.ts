import type { CredentialStore, LoginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import { NetworkError } from '../../http/http-client.ts'
import { isSameOrigin } from '../discovery/server-url.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthPorts, ServerResponse } from '../server-request.ts'
import { clientNow, postAsClient } from '../tokens/token-request.ts'
import { readIfPossible } from './shared-sign-in.ts'

const lockMs = 20_000

/**
 * Revokes the tokens of a login if possible, then forgets everything. `readable` false: the tokens stay valid at the server. `revoked`
 * undefined: it offers no revocation. Rejects with `CredentialError`.
 */
export async function signOut(
  store: CredentialStore,
  id: LoginId,
  revoke: (credential: Credential) => Promise<boolean | undefined>,
) {
  return await store.exclusively(id, { waitMs: lockMs }, async () => {
    const { credential, isUnreadable } = await readIfPossible(store, id)
    const isRevoked = credential && (await revoke(credential).catch(() => false))
    const found = await store.remove(id)
    return { credential, found, readable: !isUnreadable, revoked: isUnreadable ? false : isRevoked }
  })
}

/**
 * Revokes the tokens of a login (RFC 7009). Sends nothing to another host than the one that issued them. Undefined when there
 * is nothing to revoke, or no endpoint.
 */
export async function revokeTokens(
  credential: Credential,
  config: OAuthConfig,
  ports: OAuthPorts,
): Promise<boolean | undefined> {
  const { issuer, tokenEndpoint, revocationEndpoint: url, tokens } = credential
  if (url === undefined || tokens === undefined || !isSameOrigin(url, tokenEndpoint)) return undefined
  const client = clientNow(credential, config)
  const context = { ...ports, config, signal: new AbortController().signal }
  const revoke = (token: string, hint: string): Promise<boolean> => {
    const parameters = { token, token_type_hint: hint }
    return isAccepted(postAsClient({ url, issuer, client, parameters }, context))
  }
  const { refreshToken, accessToken } = tokens
  // First, because most servers end the access token with it.
  const isRefreshRevoked = refreshToken === undefined || (await revoke(refreshToken, 'refresh_token'))
  const isAccessRevoked = await revoke(accessToken, 'access_token')
  // Self-contained access tokens cannot be revoked (RFC 7009 section 2.2.1) and expire soon without their refresh
  // token.
  return refreshToken === undefined ? isAccessRevoked : isRefreshRevoked
}

async function isAccepted(response: Promise<ServerResponse>): Promise<boolean> {
  try {
    const { status } = await response
    return status >= 200 && status < 300
  } catch (error) {
    if (error instanceof NetworkError || error instanceof OAuthFailure) return false
    throw error
  }
}
