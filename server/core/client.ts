import { constantTimeEqual } from '@drawbridge/shared/pkce.ts'
import { OAuthError } from '@drawbridge/shared/oauth-error.ts'
import { hashSecret } from './seal.ts'

/** How a client proves itself at the token endpoint (RFC 7591 section 2). */
export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post'

/** Client authentication methods that the token endpoint accepts, in the order metadata lists them. */
export const clientAuthMethods: readonly ClientAuthMethod[] = [
  'none',
  'client_secret_basic',
  'client_secret_post',
]

/** Grant types of the token endpoint that a client may register. */
export type GrantType = 'authorization_code' | 'refresh_token'

/** Every {@link GrantType}, in the order metadata lists them. */
export const grantTypes: readonly GrantType[] = ['authorization_code', 'refresh_token']

/** A registered OAuth client. `name` and `uri` are self-declared and prove nothing. Times are epoch seconds. */
export interface Client {
  id: string
  kind: 'registered'
  name: string | undefined
  uri: string | undefined
  redirectUris: readonly string[]
  grantTypes: readonly GrantType[]
  authMethod: ClientAuthMethod
  secretHash: string | undefined
  createdAt: number
}

/** Where clients live. */
export interface ClientStore {
  addClient(client: Client): Promise<void>
  findClient(id: string): Promise<Client | undefined>
}

/** What a request to the token endpoint presents about its client, from the Basic header or from the body. */
export interface ClientCredentials {
  id: string
  secret: string | undefined
}

/**
 * The client that `credentials` prove (RFC 6749 section 2.3).
 *
 * A confidential client may send its secret by either method. A secret from a public client is ignored: there is
 * nothing to compare it with. Throws `invalid_client` (401), which makes clients register again.
 */
export async function authenticateClient(
  clients: ClientStore,
  credentials: ClientCredentials,
): Promise<Client> {
  const client = await clients.findClient(credentials.id)
  if (!client) {
    throw new OAuthError(
      'invalid_client',
      'This client is not registered here (any more). Register it again.',
    )
  }
  if (client.secretHash !== undefined) {
    const presented = hashSecret(credentials.secret ?? '')
    if (credentials.secret === undefined || !constantTimeEqual(presented, client.secretHash)) {
      throw new OAuthError('invalid_client', 'The client secret is missing or wrong.')
    }
  }
  return client
}
