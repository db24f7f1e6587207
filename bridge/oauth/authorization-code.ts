import type { ClientIdentity, Credential } from '../credentials/credential.ts'
import { isRegistrationInDoubt, isRequestRefused } from './authorization-code-preflight.ts'
import {
  type AuthorizationSecrets,
  authorizationUrl,
  createAuthorizationSecrets,
} from './authorization-code-request.ts'
import { readAuthorizationResponse } from './authorization-code-response.ts'
import { chooseClient } from './client-choice.ts'
import { OAuthFailure } from './login-port.ts'
import { type LoopbackListener, openLoopbackListener } from './loopback-listener.ts'
import type { OAuthConfig } from './oauth-config.ts'
import { sendWithQuirks } from './quirk.ts'
import type { OAuthPorts } from './server-exchange.ts'
import { beforeTimeout } from './sign-in-flow-limit.ts'
import { type GrantedTokens, grantedTokens, type GrantRequest } from './sign-in-flow-grant.ts'
import type { AnnounceSignIn } from './sign-in-request.ts'
import { requestTokens } from './token-endpoint-request.ts'

const retryMs = 500

/**
 * Signs in with the authorization code grant and PKCE (RFC 6749 section 4.1, RFC 7636, RFC 8252 section 7.3). The listener
 * is open before anything else happens, is the only one that knows `state`, and is closed when this resolves or rejects. The
 * browser gets its page after the code was redeemed. A person is sent once at most.
 */
export async function signInWithCode(
  request: GrantRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  announce: AnnounceSignIn,
  signal: AbortSignal,
): Promise<GrantedTokens> {
  const secrets = await createAuthorizationSecrets(ports.runtime)
  const listener = await openLoopbackListener({
    callback: config.callback,
    preferredPort: portOfBefore(request.previous, config),
    state: secrets.state,
    successUrl: config.successUrl,
  })
  try {
    const { client, url } = await prepare(request, { listener, secrets }, config, ports, signal)
    announce({ kind: 'browser', url })
    const response = await beforeTimeout(listener.response, config.signInTimeoutMs, signal)
    const { metadata } = request.server
    const code = readAuthorizationResponse(response, {
      issuer: metadata.issuer,
      sendsIss: metadata.authorization_response_iss_parameter_supported === true,
    })
    const granted = await redeem(
      { request, client, code, redirectUri: listener.redirectUri, codeVerifier: secrets.codeVerifier },
      config,
      ports,
      signal,
    )
    await listener.finish({ kind: 'signed_in' })
    return granted
  } catch (error) {
    await listener.finish({ kind: 'failed', fault: error instanceof OAuthFailure ? error.fault : undefined })
    throw error
  } finally {
    await listener.close()
  }
}

/** The client, and the URL of its authorization request. */
async function prepare(
  request: GrantRequest,
  { listener: { redirectUri }, secrets }: { listener: LoopbackListener; secrets: AuthorizationSecrets },
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<{ client: ClientIdentity; url: string }> {
  const { server, scope, previous } = request
  const urlFor = ({ clientId }: ClientIdentity): string =>
    authorizationUrl(
      {
        endpoint: server.metadata.authorization_endpoint ?? '',
        clientId,
        redirectUri,
        scope,
        resource: server.resource,
        more: config.authorizeParameters,
      },
      secrets,
    )
  const { client, replace } = await chooseClient({ ...request, redirectUri }, config, ports, signal)
  const url = urlFor(client)
  const isInDoubt =
    replace !== undefined && previous !== undefined && isRegistrationInDoubt(previous, ports.runtime.now())
  if (!isInDoubt || !(await isRequestRefused(url, ports, signal))) return { client, url }
  const registered = await replace()
  return { client: registered, url: urlFor(registered) }
}

/** Of a registration at a free port: servers that compare redirect URIs to the letter know only that one. */
function portOfBefore(previous: Credential | undefined, { callback }: OAuthConfig): number | undefined {
  const [registered] = previous?.client.origin === 'dynamic' ? (previous.client.redirectUris ?? []) : []
  if (registered === undefined || !URL.canParse(registered)) return undefined
  const { hostname, port, pathname } = new URL(registered)
  const isSame = hostname.replaceAll(/[[\]]/g, '') === callback.host && pathname === callback.path
  return isSame && port !== '' ? Number(port) : undefined
}

async function redeem(
  {
    request: { server, scope, previous },
    client,
    code,
    redirectUri,
    codeVerifier,
  }: {
    request: GrantRequest
    client: ClientIdentity
    code: string
    redirectUri: string
    codeVerifier: string
  },
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<GrantedTokens> {
  const { issuer, token_endpoint: url = '' } = server.metadata
  const known = previous?.issuer === issuer ? previous.quirks : undefined
  const optional = { resource: server.resource, scope: undefined }
  const answered = await sendWithQuirks(optional, known, async ({ resource }) => {
    const parameters = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: codeVerifier,
      resource,
    }
    const ask = { url, issuer, client, parameters, scope }
    const first = await requestTokens(ask, config, ports, signal)
    // A code works once. What never left may be sent again.
    if (first.kind !== 'unavailable' || first.sent || signal.aborted) return first
    await ports.runtime.sleep(retryMs)
    return await requestTokens(ask, config, ports, signal)
  })
  return grantedTokens(client, answered, issuer, config)
}
