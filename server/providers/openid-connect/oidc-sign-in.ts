import { constantTimeEqual, createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { IDToken, TokenEndpointResponse } from 'openid-client'
import { ProviderError, type SignIn } from '../../core/session/session-provider.ts'
import type { ConnectToOidc, OidcClientConfig, OidcConnection } from './oidc-connection.ts'
import { type OidcFailure, plainFailure, readOidcFailure } from './oidc-failure.ts'
import { identityOfClaims, withProofOfAddress } from './oidc-identity.ts'
import { type OidcJwtVerifier, vouchByUserinfo } from './oidc-verifier.ts'
import { revokeToken, sessionOfAnswer } from './oidc-session.ts'

// From the provider or the user: all other codes concern the request or the provider.
const deniedCodes = new Set(['access_denied', 'consent_required'])
// The library has already checked the times of an ID token; a clock that is behind by more is its fault.
const clockToleranceSeconds = 60
const passingCodes = new Set(['temporarily_unavailable', 'server_error'])

export interface OidcRequestConfig {
  /** Claims found only in userinfo matter. Otherwise it is fetched only for an email address. */
  readsUserinfo: boolean
  /** Includes `openid`. */
  scope: string
  /** Additional parameters of the authorization request; parameters of the protocol itself cannot be overridden. */
  parameters: Readonly<Record<string, string>>
}

/** The state for recognizing and finishing a pending sign-in. */
interface SignInSecret {
  state: string
  nonce: string
  codeVerifier: string
}

/** Starts the authorization code flow with PKCE, state and nonce (OpenID Connect Core section 3.1.2). */
export async function startOidcSignIn(
  config: OidcRequestConfig,
  callbackUrl: string,
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'randomBytes'>,
): Promise<{ url: string; secret: string }> {
  const { library, configuration } = await connect()
  const secret: SignInSecret = {
    state: encodeBase64url(runtime.randomBytes(32)),
    nonce: encodeBase64url(runtime.randomBytes(32)),
    codeVerifier: createCodeVerifier(runtime.randomBytes),
  }
  const url = library.buildAuthorizationUrl(configuration, {
    ...config.parameters,
    response_type: 'code',
    scope: config.scope,
    redirect_uri: new URL(callbackUrl).href,
    state: secret.state,
    nonce: secret.nonce,
    code_challenge: await deriveCodeChallenge(secret.codeVerifier),
    code_challenge_method: 'S256',
  })
  return { url: url.href, secret: JSON.stringify(secret) }
}

/**
 * Finishes it: checks the `iss` of the response (RFC 9207), the code, the ID token with its signature, issuer, audience, nonce and
 * time. Rejects with `expired` before sending anything if the `state` does not match `given.secret`.
 *
 * Refuses a provider that issues no refresh token, since its session could not outlive the first access token.
 */
export async function finishOidcSignIn(
  given: { params: URLSearchParams; secret: string; callbackUrl: string },
  { readsUserinfo, clientId }: Pick<OidcRequestConfig & OidcClientConfig, 'readsUserinfo' | 'clientId'>,
  verify: OidcJwtVerifier,
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'now'>,
): Promise<SignIn> {
  const secret = JSON.parse(given.secret) as SignInSecret
  if (!constantTimeEqual(given.params.get('state') ?? '', secret.state)) {
    throw new ProviderError('expired', 'The response of the OpenID provider belongs to another sign-in.')
  }
  const connection = await connect()
  const { answer, claims } = await redeemCode(given, secret, connection)
  const { access_token: accessToken, refresh_token: refreshToken } = answer
  await checkSignature(answer, clientId, verify, connect)
  if (refreshToken === undefined) {
    await revokeToken(accessToken, 'access_token', connection).catch(() => undefined)
    throw new ProviderError(
      'protocol',
      "The OpenID provider issued no refresh token. Allow it for this client, and request it: with the scope offline_access, or by the provider's own parameter.",
    )
  }
  const userinfo =
    readsUserinfo || claims.email === undefined
      ? await fetchUserinfo(accessToken, claims.sub, connection)
      : undefined
  const session = sessionOfAnswer(answer, runtime.now(), {
    refreshToken,
    sid: typeof claims['sid'] === 'string' ? claims['sid'] : undefined,
    userinfo,
  })
  const { issuer } = connection.metadata
  const said = withProofOfAddress({ ...userinfo, ...claims }, [claims, userinfo])
  return { session, identity: identityOfClaims(said, issuer, session.expiresAt) }
}

/** Checks the ID token as any JWT of the provider; gives the tokens back if that fails. */
async function checkSignature(
  { access_token: accessToken, refresh_token: refreshToken, id_token: idToken = '' }: TokenEndpointResponse,
  audience: string,
  verify: OidcJwtVerifier,
  connect: ConnectToOidc,
): Promise<void> {
  try {
    const vouch = vouchByUserinfo(connect, accessToken)
    await verify(idToken, { audience, clockTolerance: clockToleranceSeconds, vouch, isFromProvider: true })
  } catch (error) {
    const issued = refreshToken === undefined ? 'access_token' : 'refresh_token'
    await revokeToken(refreshToken ?? accessToken, issued, await connect()).catch(() => undefined)
    if (!(error instanceof ProviderError) || error.failure !== 'invalid_token') throw error
    throw new ProviderError('protocol', `The ID token of the OpenID provider is refused. ${error.message}`)
  }
}

async function redeemCode(
  { params, callbackUrl }: { params: URLSearchParams; callbackUrl: string },
  { state, nonce, codeVerifier }: SignInSecret,
  { library, configuration }: OidcConnection,
): Promise<{ answer: TokenEndpointResponse; claims: IDToken }> {
  const returnedTo = new URL(callbackUrl)
  returnedTo.search = params.toString()
  try {
    const answer = await library.authorizationCodeGrant(configuration, returnedTo, {
      pkceCodeVerifier: codeVerifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    })
    const claims = answer.claims()
    // All users without a subject would be the same user.
    if (!claims?.sub) throw new TypeError('the ID token has no subject')
    return { answer, claims }
  } catch (error) {
    throw signInFailure(await readOidcFailure(error))
  }
}

function signInFailure(failure: OidcFailure): ProviderError {
  if (failure.kind === 'returned_error') {
    const message = `The OpenID provider ended the sign-in: ${failure.code}.`
    if (deniedCodes.has(failure.code)) return new ProviderError('denied', message)
    return new ProviderError(passingCodes.has(failure.code) ? 'transient' : 'protocol', message)
  }
  if (failure.kind === 'refused' && failure.code === 'invalid_grant') {
    return new ProviderError('expired', 'The authorization code is too old, used, or of another sign-in.')
  }
  return plainFailure(failure, 'the redemption of a code')
}

/**
 * Returns the userinfo claims; nothing if unavailable, as an email address is not worth failing the sign-in. Refuses a response
 * about another user (OpenID Connect Core section 5.3.2).
 */
async function fetchUserinfo(
  accessToken: string,
  sub: string,
  { library, configuration, metadata }: OidcConnection,
): Promise<Readonly<Record<string, unknown>>> {
  if (metadata.userinfo_endpoint === undefined) return {}
  try {
    const userinfo = await library.fetchUserInfo(configuration, accessToken, library.skipSubjectCheck)
    if (userinfo.sub === sub) return userinfo
  } catch {
    return {}
  }
  throw new ProviderError('protocol', 'The userinfo of the OpenID provider is about another user.')
}
