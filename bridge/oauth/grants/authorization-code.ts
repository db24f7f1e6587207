import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import { NetworkError } from '../../http/http-client.ts'
import { type LoopbackListener, openLoopbackListener } from '../browser/loopback-listener.ts'
import { checkSignInPage } from '../browser/sign-in-page.ts'
import { chooseClient } from '../client/client-choice.ts'
import { type AnnounceSignIn, OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { type OAuthContext, type ServerResponse, requestJson } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { isClientRefused, refusal } from '../tokens/token-response.ts'
import { beforeTimeout } from '../wait.ts'
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

type AuthorizationSecrets = Awaited<ReturnType<typeof createAuthorizationSecrets>>

/** Creates values that bind one authorization request to its response: secrets of 256 bits each. */
async function createAuthorizationSecrets({ randomBytes }: Pick<Runtime, 'randomBytes'>) {
  const codeVerifier = createCodeVerifier(randomBytes)
  const codeChallenge = await deriveCodeChallenge(codeVerifier)
  return { state: encodeBase64url(randomBytes(32)), codeVerifier, codeChallenge }
}

/**
 * Builds the URL for the user to open (RFC 6749 section 4.1.1, RFC 7636 section 4.3, RFC 8707 section 2). Parameters of the
 * user may replace `scope` and `resource`, but nothing that the security of the sign-in depends on.
 */
function authorizationUrl(
  { server, scope }: GrantRequest,
  { clientId }: ClientIdentity,
  { state, codeChallenge }: AuthorizationSecrets,
  redirectUri: string,
  { authorizeParameters }: OAuthConfig,
): string {
  const url = new URL(server.metadata.authorization_endpoint ?? '')
  const parameters = {
    scope,
    resource: server.resource,
    ...authorizeParameters,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return url.href
}

/**
 * Returns the code of an authorization response whose `state` was checked (RFC 6749 section 4.1.2). Throws `issuer_mismatch`
 * when `iss` does not spell the known issuer, or is missing although announced (RFC 9207 section 2.4, MCP
 * 2026-07-28 authorization); nothing of that response is then displayed, since its sender is unknown.
 */
function readAuthorizationResponse(
  parameters: URLSearchParams,
  { server: { metadata, askedFor } }: GrantRequest,
  { acceptIssuer }: Pick<OAuthConfig, 'acceptIssuer'>,
): string {
  const { issuer, authorization_response_iss_parameter_supported: sendsIss = false } = metadata
  const given = parameters.getAll('iss')
  const isMissing = given.length === 0 && sendsIss
  const isFrom = (iss: string): boolean =>
    iss === issuer || iss === askedFor || isSameIssuer(iss, acceptIssuer)
  if (isMissing || !given.every(isFrom) || given.length > 1) {
    const what = isMissing ? 'does not say which server it is from' : 'is from another server'
    const text = `The response to the sign-in at ${quoteServerText(issuer)} ${what}.`
    throw new OAuthFailure('issuer_mismatch', text, { issuer })
  }
  const error = parameters.get('error')
  if (error !== null) throw refusal(error, parameters.get('error_description') ?? undefined, issuer)
  const [code, ...more] = parameters.getAll('code')
  if (code !== undefined && code !== '' && more.length === 0) return code
  const text = `${quoteServerText(issuer)} sent the browser back without a code.`
  throw new OAuthFailure('refused', text, { issuer })
}

/** A client that got tokens this recently counts as known: a step-up must not cost two authorization requests each time. */
const freshSeconds = 300

/** Statuses that mean that the request itself is wrong. Not 403 and 429, which gateways return to non-browsers. */
const unknownStatuses = new Set([400, 401, 404, 410, 422])

/** Errors returned through the browser when the authorization server rejects the client. */
const clientErrors = new Set(['invalid_client', 'unauthorized_client'])

/**
 * Returns whether the server may have forgotten a registration or refuse a document: the user would then be stuck at an error
 * page. False for a client that got tokens a moment ago, unless the user explicitly signs in again.
 */
function isClientInDoubt(
  { clientId }: ClientIdentity,
  { previous, isForced, server }: GrantRequest,
  now: number,
): boolean {
  if (isForced || previous === undefined || !isSameIssuer(previous.issuer, server.metadata.issuer))
    return true
  const { client, tokens, signInNeeded } = previous
  if (client.clientId !== clientId || signInNeeded !== undefined || tokens === undefined) return true
  return now - tokens.issuedAt > freshSeconds
}

/**
 * Opens an authorization request as a browser would, and returns whether the server refuses it by its status or by the error
 * in its redirect. Any other response, or none, leaves it to the user. Does not use a code in a redirect.
 */
async function isRequestRefused(
  url: string,
  client: ClientIdentity,
  redirectUri: string,
  context: OAuthContext,
): Promise<boolean> {
  const headers = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }
  try {
    const answer = await requestJson({ method: 'GET', url, headers }, context)
    // A server that accepts documents only from some hosts returns 403; if a gateway sent it, registering does no
    // harm.
    const isForbidden = answer.status === 403 && client.origin === 'metadata_document'
    return isForbidden || unknownStatuses.has(answer.status) || sendsBackRefused(answer, url, redirectUri)
  } catch (error) {
    if (context.signal.aborted || !(error instanceof NetworkError)) throw error
    return false
  }
}

function sendsBackRefused({ status, headers }: ServerResponse, from: string, redirectUri: string): boolean {
  const { location } = headers
  if (status < 300 || status > 399 || typeof location !== 'string' || !isUrl(location, from)) return false
  const [target, own] = [new URL(location, from), new URL(redirectUri)]
  const isBack = target.origin === own.origin && target.pathname === own.pathname
  return isBack && clientErrors.has(target.searchParams.get('error') ?? '')
}
