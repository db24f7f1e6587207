import type { Credential } from '../../credentials/credential.ts'
import { type LoopbackListener, openLoopbackListener } from '../browser/loopback-listener.ts'
import { checkSignInPage } from '../browser/sign-in-page.ts'
import { type ChosenClient, type ReplacedClient, chooseClient } from '../client/client-choice.ts'
import { type AnnounceSignIn, OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthContext } from '../server-request.ts'
import { isClientRefused } from '../tokens/token-response.ts'
import { beforeTimeout } from '../wait.ts'
import {
  type AuthorizationSecrets,
  authorizationUrl,
  createAuthorizationSecrets,
  isClientInDoubt,
  isRequestRefused,
  readAuthorizationResponse,
} from './authorization-request.ts'
import { type GrantRequest, type GrantedTokens, grantedTokens, requestGrant } from './grant.ts'

const retryMs = 500

/**
 * Signs in with the authorization code grant and PKCE (RFC 6749 section 4.1, RFC 7636, RFC 8252 section 7.3).
 * Registers and requests nothing until the page is known to be the issuer's or can be announced with a warning. The
 * listener is open before a link exists, is the only holder of `state`, and is closed when this resolves or rejects.
 * The browser gets its page after the code has been redeemed. The user sees one link only: if the server refuses the
 * client after all, another one is registered and the returning browser is redirected.
 */
export async function signInWithCode(
  request: GrantRequest,
  context: OAuthContext,
  announce: AnnounceSignIn,
): Promise<GrantedTokens> {
  const { config, runtime } = context
  const { server, previous } = request
  const page = { kind: 'authorization' as const, url: server.metadata.authorization_endpoint ?? '' }
  const foreign = await checkSignInPage(page, server.metadata, previous, context)
  const secrets = await createAuthorizationSecrets(runtime)
  const listener = await openLoopbackListener({
    callback: config.callback,
    preferredPort: portOfBefore(previous, config),
    state: secrets.state,
    successUrl: config.successUrl,
  })
  try {
    const granted = await askOnceOrTwice({ request, listener, context }, secrets, (url) =>
      announce({ kind: 'browser', url, unconfirmed: foreign?.unconfirmed }),
    )
    await listener.finish({ kind: 'signed_in' })
    return { ...granted, acceptedPage: foreign?.origin }
  } catch (error) {
    await listener.finish({ kind: 'failed', fault: error instanceof OAuthFailure ? error.fault : undefined })
    throw error
  } finally {
    await listener.close()
  }
}

/** A sign-in that has started. */
interface BegunSignIn {
  request: GrantRequest
  listener: LoopbackListener
  context: OAuthContext
}

/** One authorization request: its client, and the secrets that bind it to its response. */
interface Attempt extends ReplacedClient {
  secrets: AuthorizationSecrets
  url: string
}

async function askOnceOrTwice(
  begun: BegunSignIn,
  secrets: AuthorizationSecrets,
  announce: (url: string) => void,
): Promise<GrantedTokens> {
  const { listener, context } = begun
  const { first, replace } = await prepare(begun, secrets)
  announce(first.url)
  const endsAt = performance.now() + context.config.signInTimeoutMs
  try {
    return await complete(first, listener.response, endsAt, begun)
  } catch (error) {
    if (replace === undefined || !isClientRefused(error)) throw error
    const second = attemptOf(await replace(), await createAuthorizationSecrets(context.runtime), begun)
    return await complete(second, listener.askAgain(second.secrets.state, second.url), endsAt, begun)
  }
}

/** Prepares the first attempt shown to the user. `replace` is undefined once a replacement client was registered. */
async function prepare(
  begun: BegunSignIn,
  secrets: AuthorizationSecrets,
): Promise<{ first: Attempt; replace: ChosenClient['replace'] }> {
  const { request, listener, context } = begun
  const { redirectUri } = listener
  const { client, replace } = await chooseClient({ ...request, redirectUri }, context)
  const first = attemptOf({ client, quirks: {} }, secrets, begun)
  const isInDoubt = replace !== undefined && isClientInDoubt(client, request, context.runtime.now())
  if (!isInDoubt || !(await isRequestRefused({ ...first, redirectUri }, context))) return { first, replace }
  return { first: attemptOf(await replace(), secrets, begun), replace: undefined }
}

function attemptOf(
  { client, quirks }: ReplacedClient,
  secrets: AuthorizationSecrets,
  { request: { server, scope }, listener: { redirectUri }, context: { config } }: BegunSignIn,
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

/** Waits for the user to return, and redeems the code. */
async function complete(
  attempt: Attempt,
  answered: Promise<URLSearchParams>,
  endsAt: number,
  begun: BegunSignIn,
): Promise<GrantedTokens> {
  const { request, listener, context } = begun
  const { config, runtime, signal } = context
  const response = await beforeTimeout(answered, Math.max(0, endsAt - performance.now()), signal)
  const { issuer, authorization_response_iss_parameter_supported: sendsIss = false } = request.server.metadata
  const parameters = {
    grant_type: 'authorization_code',
    code: readAuthorizationResponse(response, { issuer, sendsIss }),
    redirect_uri: listener.redirectUri,
    code_verifier: attempt.secrets.codeVerifier,
  }
  let answer = await requestGrant(request, attempt.client, parameters, context)
  // A code works once. Only a request that was never sent may be repeated.
  if (answer.answer.kind === 'unavailable' && !answer.answer.sent && !signal.aborted) {
    await runtime.sleep(retryMs)
    answer = await requestGrant(request, attempt.client, parameters, context)
  }
  return grantedTokens(attempt, answer, issuer, config)
}

/**
 * Returns the port of an earlier registration with a free port: servers that compare redirect URIs exactly accept no
 * other.
 */
function portOfBefore(previous: Credential | undefined, { callback }: OAuthConfig): number | undefined {
  const [registered] = previous?.client.origin === 'dynamic' ? (previous.client.redirectUris ?? []) : []
  if (registered === undefined || !URL.canParse(registered)) return undefined
  const { hostname, port, pathname } = new URL(registered)
  const isSame = hostname.replaceAll(/[[\]]/g, '') === callback.host && pathname === callback.path
  return isSame && port !== '' ? Number(port) : undefined
}
