import type { ClientIdentity, Credential } from '../credentials/credential.ts'
import { NetworkError } from '../http/http-client.ts'
import { isSafeUrl } from './discovery-url.ts'
import { OAuthFailure } from './login-port.ts'
import type { OAuthConfig } from './oauth-config.ts'
import { sendWithQuirks } from './quirk.ts'
import type { OAuthPorts } from './server-exchange.ts'
import type { RefreshAnswer } from './token-answer.ts'
import { postAsClient, requestTokens } from './token-endpoint-request.ts'

/**
 * Asks for new tokens with the refresh token (RFC 6749 section 6), once, apart from what {@link sendWithQuirks} repeats.
 * Keeps and throws away nothing. Rejects only with {@link OAuthFailure} `client_refused`, when a private key is missing.
 *
 * Not checked: that nobody else uses the same refresh token now.
 */
export async function refreshTokens(
  credential: Credential,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal?: AbortSignal,
): Promise<RefreshAnswer> {
  const { issuer, tokenEndpoint, tokens, quirks } = credential
  const refreshToken = tokens?.refreshToken
  if (refreshToken === undefined) {
    const description = 'There is no refresh token.'
    return {
      answer: { kind: 'refused', error: 'invalid_grant', description, status: 400 },
      quirks: { ...quirks },
    }
  }
  const optional = {
    resource: config.sendResource ? credential.resource : undefined,
    scope: tokens?.scope,
  }
  const client = clientNow(credential, config)
  return await sendWithQuirks(optional, quirks, (sent) => {
    const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken, ...sent }
    return requestTokens({ url: tokenEndpoint, issuer, client, parameters }, config, ports, signal)
  })
}

/**
 * Gives the tokens back (RFC 7009): the refresh token first, because with it most servers end the access token too. True
 * when the server took them all; undefined when there is nothing to give back, or nowhere. Never rejects.
 */
export async function revokeTokens(
  credential: Credential,
  config: OAuthConfig,
  ports: OAuthPorts,
): Promise<boolean | undefined> {
  const { issuer, revocationEndpoint: url, tokens } = credential
  if (url === undefined || tokens === undefined || !isSafeUrl(url, issuer, config.allowHttp)) return undefined
  const client = clientNow(credential, config)
  const revoke = async (token: string, hint: string): Promise<boolean> => {
    const parameters = { token, token_type_hint: hint }
    try {
      const { status } = await postAsClient({ url, issuer, client, parameters }, config, ports, undefined)
      return status >= 200 && status < 300
    } catch (error) {
      if (error instanceof NetworkError || error instanceof OAuthFailure) return false
      throw error
    }
  }
  const { refreshToken, accessToken } = tokens
  const isRefreshRevoked = refreshToken === undefined || (await revoke(refreshToken, 'refresh_token'))
  const isAccessRevoked = await revoke(accessToken, 'access_token')
  // Self-contained access tokens cannot be revoked (RFC 7009 section 2.2.1), and end soon without their refresh token.
  return refreshToken === undefined ? isAccessRevoked : isRefreshRevoked
}

/** A secret that the user changed since the sign-in is the one that counts, unless it is for another issuer. */
function clientNow({ client, issuer }: Credential, { staticClient }: OAuthConfig): ClientIdentity {
  if (client.origin !== 'static' || staticClient?.clientId !== client.clientId) return client
  const { clientSecret, issuer: own = issuer } = staticClient
  return clientSecret === undefined || own !== issuer ? client : { ...client, clientSecret }
}
