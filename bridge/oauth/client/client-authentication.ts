import type { ClientIdentity } from '../../credentials/credential.ts'
import { createClientAssertion } from './client-assertion.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthPorts } from '../server-exchange.ts'

/** How a request says who sends it. */
export interface ClientProof {
  headers: Readonly<Record<string, string>>
  parameters: Readonly<Record<string, string>>
}

/**
 * What a request to `issuer` carries to prove the client: one method, never two at once (RFC 6749 section 2.3). Throws
 * {@link OAuthFailure} `client_refused` when the private key is not there any more, or of no use.
 */
export function proveClient(
  client: ClientIdentity,
  issuer: string,
  config: OAuthConfig,
  { runtime }: OAuthPorts,
): ClientProof {
  const { clientId, clientSecret = '', tokenEndpointAuthMethod: method } = client
  if (method === 'client_secret_basic') {
    const userPass = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`
    return {
      headers: { authorization: `Basic ${Buffer.from(userPass).toString('base64')}` },
      parameters: {},
    }
  }
  if (method === 'client_secret_post') {
    return { headers: {}, parameters: { client_id: clientId, client_secret: clientSecret } }
  }
  if (method === 'none') return { headers: {}, parameters: { client_id: clientId } }
  const { privateKey } = config
  if (privateKey === undefined) {
    throw new OAuthFailure(
      'client_refused',
      'The client proves itself with a private key, and none is given.',
    )
  }
  return {
    headers: {},
    parameters: {
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: createClientAssertion({ clientId, audience: issuer }, privateKey, runtime),
    },
  }
}

/** Text as it stands in a form; so are both halves of basic authentication (RFC 6749 section 2.3.1 and appendix B). */
export function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}
