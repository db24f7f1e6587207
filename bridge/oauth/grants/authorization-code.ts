import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
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
import { isUrl } from '@drawbridge/shared/url.ts'

const retryMs = 500

/**
 * Signs in with the authorization code grant and PKCE (RFC 6749 section 4.1, RFC 7636, RFC 8252 section 7.3). Registers
 * nothing until the page is known to be the issuer's or can be announced with a warning. Returns to `localhost` where the server
 * accepts only that, unless the user chose the address.
 */
export async function signInWithCode(
  request: GrantRequest,
  context: OAuthContext,
  announce: AnnounceSignIn,
): Promise<GrantedTokens> {
  const { metadata } = request.server
  const page = { kind: 'authorization' as const, url: metadata.authorization_endpoint ?? '' }
  const foreign = await checkSignInPage(page, metadata, request.previous, context)
  const { host, preferredPort } = callbackOfBefore(request, context.config)
  const returnTo = (host: string): Promise<GrantedTokens> => {
    const config = { ...context.config, callback: { ...context.config.callback, host } }
    return signInAndReturn({ request, context: { ...context, config }, preferredPort }, (url) =>
      announce({ kind: 'browser', url, unconfirmed: foreign?.unconfirmed }),
    )
  }
  const granted = await returnTo(host).catch((first: unknown) => {
    if (!isRedirectRefused(first) || context.config.callback.isFixed === true) throw first
    return returnTo('localhost').catch((second: unknown) => {
      throw isRedirectRefused(second) ? first : second
    })
  })
  return { ...granted, acceptedPage: foreign?.origin }
}

function isRedirectRefused(error: unknown): boolean {
  return error instanceof OAuthFailure && error.fault === 'redirect_refused'
}

/** Listens while the user signs in. The listener is the only holder of `state`; the browser gets its page once the code is redeemed. */
async function signInAndReturn(
  { request, context, preferredPort }: Omit<BegunSignIn, 'listener'> & { preferredPort: number | undefined },
  announce: (url: string) => void,
): Promise<GrantedTokens> {
  const secrets = await createAuthorizationSecrets(context.runtime)
  const { callback } = context.config
  const listener = await openLoopbackListener({ callback, preferredPort, state: secrets.state })
  try {
    const granted = await askOnceOrTwice({ request, context, listener }, secrets, announce)
    await listener.finish({ kind: 'signed_in' })
    return granted
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
    code: readAuthorizationResponse(returned, request, config),
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

/** Returns host and port of an earlier registration: servers that compare redirect URIs exactly accept no other. */
function callbackOfBefore(
  { previous, server }: GrantRequest,
  { callback }: OAuthConfig,
): { host: string; preferredPort: number | undefined } {
  const registered = registeredAt(previous, server.metadata.issuer)
  const { hostname, port, pathname } = new URL(registered ?? 'http://none/')
  const host = hostname.replaceAll(/[[\]]/g, '')
  const isSameHost = host === callback.host || (host === 'localhost' && callback.isFixed !== true)
  if (!isSameHost || pathname !== callback.path || port === '')
    return { host: callback.host, preferredPort: undefined }
  return { host, preferredPort: Number(port) }
}

function registeredAt(previous: Credential | undefined, issuer: string): string | undefined {
  if (previous?.client.origin !== 'dynamic' || !isSameIssuer(previous.issuer, issuer)) return undefined
  return previous.client.redirectUris?.find((uri) => isUrl(uri))
}
