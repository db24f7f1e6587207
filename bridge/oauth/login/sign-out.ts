import type { Credential } from '../../credentials/credential.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { removeRegistration } from '../client/registration.ts'
import type { OAuthPorts } from '../server-request.ts'
import { revokeTokens } from '../tokens/token-request.ts'

/**
 * Revokes the tokens of a login and then removes its registration, since only a known client can revoke tokens.
 * Returns the result of {@link revokeTokens}: a leftover registration is useless to anyone.
 */
export async function giveBack(
  credential: Credential,
  config: OAuthConfig,
  ports: OAuthPorts,
): Promise<boolean | undefined> {
  const revoked = await revokeTokens(credential, config, ports)
  await removeRegistration(credential, ports)
  return revoked
}
