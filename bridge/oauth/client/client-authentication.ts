import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { SignJWT } from 'jose'
import type { ClientIdentity } from '../../credentials/credential.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthContext } from '../server-request.ts'

/** Authenticates a client in a request. */
export interface ClientProof {
  headers: Readonly<Record<string, string>>
  parameters: Readonly<Record<string, string>>
}

/**
 * Returns the client authentication of a request to `issuer`: one method, never two at once (RFC 6749 section 2.3). Every
 * method names the client in the body: servers on the MCP Python SDK look for it there before they read the header.
 * Rejects with {@link OAuthFailure} `client_refused` when the private key is missing.
 */
export async function proveClient(
  client: ClientIdentity,
  issuer: string,
  { config, runtime }: Pick<OAuthContext, 'config' | 'runtime'>,
): Promise<ClientProof> {
  const { clientId, clientSecret = '', tokenEndpointAuthMethod: method } = client
  const parameters = { client_id: clientId }
  if (method === 'client_secret_basic') {
    const userPass = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`
    const header = `Basic ${Buffer.from(userPass).toString('base64')}`
    return { headers: { authorization: header }, parameters }
  }
  if (method === 'client_secret_post') {
    return { headers: {}, parameters: { ...parameters, client_secret: clientSecret } }
  }
  if (method === 'none') return { headers: {}, parameters }
  const { privateKey } = config
  if (privateKey === undefined) {
    const text = 'The client authenticates with a private key, and none is configured.'
    throw new OAuthFailure('client_refused', text, { issuer, nextStep: 'Name its file with --private-key.' })
  }
  return {
    headers: {},
    parameters: {
      ...parameters,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await createClientAssertion({ clientId, audience: issuer }, privateKey, runtime),
    },
  }
}

/** Encodes both halves of basic authentication as in a form (RFC 6749 section 2.3.1 and appendix B). */
export function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

/** Long enough for a slow request and some clock skew, short enough to be of little use to a thief. */
const ttlSeconds = 120

/**
 * Creates a JWT that authenticates the client once (RFC 7523 section 3). `audience` is the issuer, as servers expect since
 * the attack on those that accepted any of their URLs.
 *
 * @internal
 */
export async function createClientAssertion(
  { clientId, audience }: { clientId: string; audience: string },
  { key, algorithm }: NonNullable<OAuthConfig['privateKey']>,
  runtime: OAuthContext['runtime'],
): Promise<string> {
  const now = runtime.now()
  return await new SignJWT({ jti: encodeBase64url(runtime.randomBytes(16)) })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(now + ttlSeconds)
    .sign(key)
}
