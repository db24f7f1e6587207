import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Client, GrantType } from './client.ts'

/** Throws `unauthorized_client` for a client that registered, and not for `grantType` (RFC 6749 section 5.2). */
export function requireGrantType(client: Pick<Client, 'grantTypes'>, grantType: GrantType): void {
  if (client.grantTypes.includes(grantType)) return
  throw new OAuthError(
    'unauthorized_client',
    `This client is registered without the grant type ${grantType}. Register it again with that one.`,
  )
}
