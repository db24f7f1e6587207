import type { Credential } from '../../credentials/credential.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { removeRegistration } from '../client/registration.ts'
import type { OAuthPorts } from '../server-exchange.ts'
import { revokeTokens } from '../tokens/token-request.ts'

/**
 * Gives back what an authorization server has issued for a login: the tokens, and after them the registration that was made
 * for it, as the tokens can be revoked by a client only that is still known. Answers what {@link revokeTokens} does: a
 * registration that stays is of no use to anybody.
 */
export async function giveBack(
  credential: Credential,
  config: OAuthConfig,
  ports: OAuthPorts,
): Promise<boolean | undefined> {
  const revoked = await revokeTokens(credential, config, ports)
  await removeRegistration(credential, config, ports)
  return revoked
}
