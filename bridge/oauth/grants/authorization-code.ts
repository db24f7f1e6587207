import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import { type LoopbackListener, openLoopbackListener } from '../browser/loopback-listener.ts'
import { checkSignInPage } from '../browser/sign-in-page.ts'
import { chooseClient } from '../client/client-choice.ts'
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
 * Signs in with the authorization code grant and PKCE (RFC 6749 section 4.1, RFC 7636, RFC 8252 section 7.3). Registers
 * nothing until the page is known to be the issuer's or can be announced with a warning. The listener is the only holder
 * of `state`; the browser gets its page after the code has been redeemed.
 */
export async function signInWithCode(
  request: GrantRequest,
  context: OAuthContext,
  announce: AnnounceSignIn,
): Promise<GrantedTokens> {
  const { config, runtime } = context
  const { metadata } = request.server
  const page = { kind: 'authorization' as const, url: metadata.authorization_endpoint ?? '' }
  const foreign = await checkSignInPage(page, metadata, request.previous, context)
  const secrets = await createAuthorizationSecrets(runtime)
  const listener = await openLoopbackListener({
    callback: config.callback,
    preferredPort: portOfBefore(request.previous, config),
    state: secrets.state,
  })
  try {
    const granted = await askOnceOrTwice({ request, context, listener }, secrets, (url) =>
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
  context: OAuthContext
  listener: LoopbackListener
}

/** Shows one link only: if the server refuses the client after all, the returning browser is redirected. */
async function askOnceOrTwice(
  begun: BegunSignIn,
  secrets: AuthorizationSecrets,
  announce: (url: string) => void,
): Promise<GrantedTokens> {
  const { request, context, listener } = begun
  const { config, runtime } = context
  const { redirectUri } = listener
  const urlFor = (client: ClientIdentity, secrets: AuthorizationSecrets): string =>
    authorizationUrl(request, client, secrets, redirectUri, config)
  let { client, replace } = await chooseClient({ ...request, redirectUri }, context)
  let url = urlFor(client, secrets)
  const isInDoubt = isClientInDoubt(client, request, runtime.now())
  if (replace !== undefined && isInDoubt && (await isRequestRefused(url, client, redirectUri, context))) {
    client = await replace()
    replace = undefined
    url = urlFor(client, secrets)
  }
  announce(url)
  const endsAt = performance.now() + config.signInTimeoutMs
  try {
    return await complete(client, secrets, listener.response, endsAt, begun)
  } catch (error) {
    if (replace === undefined || !isClientRefused(error)) throw error
    const other = await replace()
    const fresh = await createAuthorizationSecrets(runtime)
    const response = listener.askAgain(fresh.state, urlFor(other, fresh))
    return await complete(other, fresh, response, endsAt, begun)
  }
}

/** Waits for the user to return, and redeems the code. */
async function complete(
  client: ClientIdentity,
  { codeVerifier }: AuthorizationSecrets,
  response: Promise<URLSearchParams>,
  endsAt: number,
  { request, context, listener }: BegunSignIn,
): Promise<GrantedTokens> {
  const { config, runtime, signal } = context
  const returned = await beforeTimeout(response, Math.max(0, endsAt - performance.now()), signal)
  const parameters = {
    grant_type: 'authorization_code',
    code: readAuthorizationResponse(returned, request),
    redirect_uri: listener.redirectUri,
    code_verifier: codeVerifier,
  }
  let answer = await requestGrant(request, client, parameters, context)
  // A code works once. Only a request that was never sent may be repeated.
  if (answer.kind === 'unavailable' && !answer.sent && !signal.aborted) {
    await runtime.sleep(retryMs)
    answer = await requestGrant(request, client, parameters, context)
  }
  return grantedTokens(client, answer, request.server.metadata.issuer, config)
}

/** Returns the port of an earlier registration: servers that compare redirect URIs exactly accept no other. */
function portOfBefore(previous: Credential | undefined, { callback }: OAuthConfig): number | undefined {
  const [registered] = previous?.client.origin === 'dynamic' ? (previous.client.redirectUris ?? []) : []
  if (registered === undefined || !URL.canParse(registered)) return undefined
  const { hostname, port, pathname } = new URL(registered)
  const isSame = hostname.replaceAll(/[[\]]/g, '') === callback.host && pathname === callback.path
  return isSame && port !== '' ? Number(port) : undefined
}
