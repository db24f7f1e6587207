import type { Credential } from '../../credentials/credential.ts'
import {
  type AuthorizationSecrets,
  authorizationUrl,
  createAuthorizationSecrets,
  isClientInDoubt,
  isRequestRefused,
  readAuthorizationResponse,
} from './authorization-request.ts'
import { type ChosenClient, type ReplacedClient, chooseClient } from '../client/client-choice.ts'
import { type AnnounceSignIn, OAuthFailure } from '../login-port.ts'
import { type LoopbackListener, openLoopbackListener } from '../browser/loopback-listener.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { sendWithQuirks } from '../tokens/issuer-quirks.ts'
import type { OAuthPorts } from '../server-exchange.ts'
import { checkSignInPage } from '../browser/sign-in-page.ts'
import { beforeTimeout } from '../wait.ts'
import { type GrantRequest, type GrantedTokens, grantedTokens } from './grant.ts'
import { isClientRefused } from '../tokens/token-response.ts'
import { requestTokens } from '../tokens/token-request.ts'

const retryMs = 500

/**
 * Signs in with the authorization code grant and PKCE (RFC 6749 section 4.1, RFC 7636, RFC 8252 section 7.3). Nothing is
 * registered or asked for before the page is known to be the issuer's, or to be told of. The listener is open before there is a link, is the only one that knows `state`, and is closed when this resolves or rejects. The
 * browser gets its page after the code was redeemed. A person is told of one link only: where the server refuses the client
 * after all, another one is registered, and the browser that came back is sent on.
 */
export async function signInWithCode(
  request: GrantRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  announce: AnnounceSignIn,
  signal: AbortSignal,
): Promise<GrantedTokens> {
  const url = request.server.metadata.authorization_endpoint ?? ''
  const foreign = await checkSignInPage({ kind: 'authorization', url }, request, config, ports, signal)
  const unconfirmed = foreign?.unconfirmed
  const secrets = await createAuthorizationSecrets(ports.runtime)
  const listener = await openLoopbackListener({
    callback: config.callback,
    preferredPort: portOfBefore(request.previous, config),
    state: secrets.state,
    successUrl: config.successUrl,
  })
  const begun = { request, listener, config, ports, signal }
  try {
    const granted = await askOnceOrTwice(begun, secrets, (link) =>
      announce({ kind: 'browser', url: link, ...(unconfirmed && { unconfirmed }) }),
    )
    await listener.finish({ kind: 'signed_in' })
    return { ...granted, ...(foreign && { acceptedPage: foreign.origin }) }
  } catch (error) {
    await listener.finish({ kind: 'failed', fault: error instanceof OAuthFailure ? error.fault : undefined })
    throw error
  } finally {
    await listener.close()
  }
}

/** A sign-in that has begun. */
interface BegunSignIn {
  request: GrantRequest
  listener: LoopbackListener
  config: OAuthConfig
  ports: OAuthPorts
  signal: AbortSignal
}

/** One authorization request: who asks, and what binds it to its response. */
interface Attempt extends ReplacedClient {
  secrets: AuthorizationSecrets
  url: string
}

async function askOnceOrTwice(
  begun: BegunSignIn,
  secrets: AuthorizationSecrets,
  announce: (url: string) => void,
): Promise<GrantedTokens> {
  const { listener, config, ports } = begun
  const { first, replace } = await prepare(begun, secrets)
  announce(first.url)
  const endsAt = performance.now() + config.signInTimeoutMs
  try {
    return await complete(first, listener.response, endsAt, begun)
  } catch (error) {
    if (replace === undefined || !isClientRefused(error)) throw error
    const second = attemptOf(await replace(), await createAuthorizationSecrets(ports.runtime), begun)
    return await complete(second, listener.askAgain(second.secrets.state, second.url), endsAt, begun)
  }
}

/** The first attempt that a person is sent to. `replace` is undefined once another client was registered. */
async function prepare(
  begun: BegunSignIn,
  secrets: AuthorizationSecrets,
): Promise<{ first: Attempt; replace: ChosenClient['replace'] }> {
  const { request, listener, config, ports, signal } = begun
  const { redirectUri } = listener
  const { client, replace } = await chooseClient({ ...request, redirectUri }, config, ports, signal)
  const first = attemptOf({ client, quirks: {} }, secrets, begun)
  const isInDoubt = replace !== undefined && isClientInDoubt(client, request, ports.runtime.now())
  if (!isInDoubt || !(await isRequestRefused({ ...first, redirectUri }, ports, signal)))
    return { first, replace }
  return { first: attemptOf(await replace(), secrets, begun), replace: undefined }
}

function attemptOf(
  { client, quirks }: ReplacedClient,
  secrets: AuthorizationSecrets,
  { request: { server, scope }, listener: { redirectUri }, config }: BegunSignIn,
): Attempt {
  const url = authorizationUrl(
    {
      endpoint: server.metadata.authorization_endpoint ?? '',
      clientId: client.clientId,
      redirectUri,
      scope,
      resource: server.resource,
      more: config.authorizeParameters,
    },
    secrets,
  )
  return { client, quirks, secrets, url }
}

/** Waits for the person, and redeems the code that they come back with. */
async function complete(
  attempt: Attempt,
  answered: Promise<URLSearchParams>,
  endsAt: number,
  begun: BegunSignIn,
): Promise<GrantedTokens> {
  const { request, signal } = begun
  const response = await beforeTimeout(answered, Math.max(0, endsAt - performance.now()), signal)
  const { metadata } = request.server
  const code = readAuthorizationResponse(response, {
    issuer: metadata.issuer,
    sendsIss: metadata.authorization_response_iss_parameter_supported === true,
  })
  return await redeem(attempt, code, begun)
}

/** Of a registration at a free port: servers that compare redirect URIs to the letter know only that one. */
function portOfBefore(previous: Credential | undefined, { callback }: OAuthConfig): number | undefined {
  const [registered] = previous?.client.origin === 'dynamic' ? (previous.client.redirectUris ?? []) : []
  if (registered === undefined || !URL.canParse(registered)) return undefined
  const { hostname, port, pathname } = new URL(registered)
  const isSame = hostname.replaceAll(/[[\]]/g, '') === callback.host && pathname === callback.path
  return isSame && port !== '' ? Number(port) : undefined
}

async function redeem(attempt: Attempt, code: string, begun: BegunSignIn): Promise<GrantedTokens> {
  const { request, listener, config, ports, signal } = begun
  const { server, scope, previous } = request
  const { client, secrets } = attempt
  const { issuer, token_endpoint: url = '' } = server.metadata
  const known = previous?.issuer === issuer ? previous.quirks : undefined
  const optional = { resource: server.resource, scope: undefined }
  const answered = await sendWithQuirks(optional, known, async ({ resource }) => {
    const parameters = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: listener.redirectUri,
      code_verifier: secrets.codeVerifier,
      resource,
    }
    const ask = { url, issuer, client, parameters, scope }
    const first = await requestTokens(ask, config, ports, signal)
    // A code works once. What never left may be sent again.
    if (first.kind !== 'unavailable' || first.sent || signal.aborted) return first
    await ports.runtime.sleep(retryMs)
    return await requestTokens(ask, config, ports, signal)
  })
  return grantedTokens(attempt, answered, issuer, config)
}
