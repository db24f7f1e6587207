import { constantTimeEqual } from '@drawbridge/shared/oauth/pkce.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type AssertionPorts, verifyClientAssertion } from './client-assertion.ts'
import type { Client, ClientFinder } from './client.ts'
import { hashSecret } from '../seal.ts'

/** A request's proof of its client: none, a secret by header or body, or a signed assertion. */
export type ClientProof =
  | { kind: 'none' }
  | { kind: 'secret'; secret: string }
  | { kind: 'assertion'; assertion: string }

export interface ClientCredentials {
  id: string
  proof: ClientProof
}

export interface ClientAuthenticationPorts extends AssertionPorts {
  clients: ClientFinder
}

/**
 * Authenticates the client of `credentials` (RFC 6749 section 2.3, RFC 7523 section 2.2).
 *
 * A client with a secret may send it by either method. A public client's secret is ignored: there is nothing to compare it with. An
 * assertion is always checked, even if the client need not send one. Throws `invalid_client` (401), which makes clients register
 * again, and what the finder and fetching keys throw.
 */
export async function authenticateClient(
  credentials: ClientCredentials,
  ports: ClientAuthenticationPorts,
): Promise<Client> {
  const client = await ports.clients.findClient(credentials.id, 'connected')
  if (!client) {
    throw new OAuthError(
      'invalid_client',
      'This client is not registered here (any more). Register it again.',
    )
  }
  const { proof } = credentials
  if (proof.kind === 'assertion') await verifyClientAssertion(client, proof.assertion, ports)
  else checkSecret(client, proof.kind === 'secret' ? proof.secret : undefined)
  return client
}

function checkSecret(client: Client, secret: string | undefined): void {
  switch (client.authMethod) {
    case 'none':
      return
    case 'private_key_jwt':
      throw new OAuthError('invalid_client', 'This client must prove itself with a client_assertion.')
    case 'client_secret_basic':
    case 'client_secret_post':
      if (
        secret === undefined ||
        client.secretHash === undefined ||
        !constantTimeEqual(hashSecret(secret), client.secretHash)
      ) {
        throw new OAuthError('invalid_client', 'The client secret is missing or wrong.')
      }
  }
}
