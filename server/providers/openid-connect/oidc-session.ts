import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { TokenEndpointResponse } from 'openid-client'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  type Claims,
  type Profile,
  type ProfileSource,
  ProviderError,
  type ProviderSession,
  type SessionProbe,
} from '../../core/session/session-provider.ts'
import { callTimeoutMs } from '../provider-response.ts'
import { profileOfClaims, withProofOfAddress } from './oidc-identity.ts'
import { type ConnectToOidc, type OidcConnection, uncheckedIdToken } from './oidc-connection.ts'
import { isPassing, type OidcFailure, plainFailure, readOidcFailure } from './oidc-failure.ts'

// `expires_in` may be missing (RFC 6749 section 5.1). Most providers issue tokens for longer than this.
const assumedLifetimeSeconds = 300

// The provider's codes for an unusable refresh token: it is gone, or the user must sign in. dex sends `invalid_request` for one
// that is unknown, expired or replaced. Our request is the same for every session.
const terminalRefreshCodes = new Set([
  'invalid_grant',
  'invalid_request',
  'interaction_required',
  'login_required',
  'consent_required',
])

// These concern this client as a whole, not one session.
const clientCodes = new Set(['invalid_client', 'unauthorized_client', 'temporarily_unavailable'])

/** Reads the session in a token response. Omitted members stay as in `previous`. */
export function sessionOfAnswer(
  answer: TokenEndpointResponse,
  now: number,
  previous: Pick<ProviderSession, 'refreshToken' | 'idToken' | 'sid' | 'userinfo'>,
): ProviderSession {
  const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken } = answer
  const lifetime = Math.floor(answer.expires_in ?? 0)
  return {
    accessToken,
    refreshToken: refreshToken ?? previous.refreshToken,
    // Counted from our own clock: the provider's may differ.
    expiresAt: now + (lifetime > 0 ? lifetime : assumedLifetimeSeconds),
    idToken: idToken ?? previous.idToken,
    sid: previous.sid,
    userinfo: previous.userinfo,
  }
}

/**
 * Runs the refresh token grant. Keeps the refresh token if the response has none. Checks only `sub` of a new ID token, which must
 * not change: it comes from the provider itself, and the access token is valid without it. Rejects with `terminal` only if the
 * provider definitively refuses this token; wrong client credentials are `transient`, as the sessions are still valid.
 */
export async function refreshOidcSession(
  session: ProviderSession,
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'now'>,
): Promise<ProviderSession> {
  const { library, refreshConfiguration } = await connect()
  let answer: Awaited<ReturnType<typeof library.refreshTokenGrant>>
  try {
    answer = await library.refreshTokenGrant(refreshConfiguration, session.refreshToken)
  } catch (error) {
    throw refreshFailure(await readOidcFailure(error))
  }
  const idToken = uncheckedIdToken(answer)
  const sub = subOf(idToken)
  const previousSub = subOf(session.idToken)
  if (sub !== undefined && previousSub !== undefined && sub !== previousSub) {
    throw new ProviderError('protocol', 'The OpenID provider refreshed a session to another user.', {
      outcomeKnown: false,
    })
  }
  const next = sessionOfAnswer(answer, runtime.now(), session)
  // An ID token without a subject, such as an encrypted one, does not identify this session.
  return sub === undefined ? next : { ...next, idToken }
}

function subOf(idToken: string | undefined): unknown {
  return readJwt(idToken ?? '')?.claims['sub']
}

function refreshFailure(failure: OidcFailure): ProviderError {
  const plain = plainFailure(failure, 'a refresh')
  if (failure.kind === 'unusable') {
    return new ProviderError('transient', plain.message, { outcomeKnown: false })
  }
  if (failure.kind !== 'refused') return plain
  const { status, code = '', retryAfterSeconds } = failure
  const isFinal = !isPassing(status)
  return new ProviderError(
    isFinal && terminalRefreshCodes.has(code) ? 'terminal' : 'transient',
    plain.message,
    {
      retryAfterSeconds,
      // A gateway in front of the provider may respond like this to a completed refresh.
      outcomeKnown: isFinal || status === 429,
      // GoTrue, among others, names no OAuth code.
      refused:
        status < 400 || !isFinal || clientCodes.has(code) ? undefined : code === '' ? 'by_status' : 'by_code',
    },
  )
}

// A token's claims about itself (RFC 9068 section 2.2) do not become outdated.
const claimsOfTokens = new Set(
  'iss sub aud exp nbf iat jti azp client_id cid scope scp typ acr amr auth_time sid'.split(' '),
)

/**
 * Returns the user of a session or a token. The ID token of a session was checked at sign-in, or came from the provider itself.
 *
 * Drops a claim that userinfo had at sign-in and no longer has: the ID token may be older. For a presented token the original
 * userinfo is unknown, so drops what userinfo omits.
 */
export function profileOfOidc(of: ProfileSource, probed: Claims | undefined, issuer: string): Profile {
  if (of.kind === 'identity') return profileOfToken(of.identity.claims, probed, issuer)
  const { idToken, userinfo } = of.session
  const claims = readJwt(idToken ?? '')?.claims ?? {}
  const kept = probed
    ? Object.entries(claims).filter(([name]) => !Object.hasOwn(userinfo ?? {}, name))
    : Object.entries({ ...userinfo, ...claims })
  const merged = { ...Object.fromEntries(kept), ...probed }
  return profileOfClaims(withProofOfAddress(merged, [probed, claims, userinfo]), issuer)
}

function profileOfToken(claims: Claims, probed: Claims | undefined, issuer: string): Profile {
  if (!probed) return profileOfClaims(claims, issuer)
  const left = Object.entries(claims).filter(([name]) => !Object.hasOwn(probed, name))
  const kept = Object.fromEntries(left.filter(([name]) => claimsOfTokens.has(name)))
  const formerClaims = Object.fromEntries(left)
  const profile = profileOfClaims(withProofOfAddress({ ...kept, ...probed }, [probed, claims]), issuer)
  if (profile.email !== undefined) return { ...profile, formerClaims }
  const { email } = profileOfClaims(formerClaims, issuer)
  return { ...profile, email, emailVerified: false, formerClaims }
}

/**
 * Calls the userinfo endpoint. Any 401 is `token_refused`, regardless of its challenge: the refresh that follows decides. Without
 * that endpoint the session counts as live until its access token expires.
 */
export async function probeOidcSession(accessToken: string, connect: ConnectToOidc): Promise<SessionProbe> {
  const { library, configuration, metadata } = await connectToProbe(connect)
  if (metadata.userinfo_endpoint === undefined) return { life: 'live' }
  let status: number
  let claims: unknown
  try {
    const url = new URL(metadata.userinfo_endpoint)
    const response = await library.fetchProtectedResource(configuration, accessToken, url, 'GET')
    ;({ status } = response)
    // Signed userinfo is a JWT, and is ignored here.
    claims = await response.json().catch(() => undefined)
  } catch (error) {
    const failure = await readOidcFailure(error)
    if (failure.kind !== 'refused') throw plainFailure(failure, 'a probe')
    status = failure.status
  }
  if (status === 200) return isJsonObject(claims) ? { life: 'live', claims } : { life: 'live' }
  if (status === 401) return { life: 'token_refused' }
  const isAboutToken = status >= 400 && !isPassing(status)
  throw new ProviderError(
    isAboutToken ? 'protocol' : 'transient',
    `The OpenID provider answered ${status} to a probe.`,
  )
}

/** A failure before a token is sent concerns every token. */
async function connectToProbe(connect: ConnectToOidc): Promise<OidcConnection> {
  try {
    return await connect()
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    throw new ProviderError('transient', error.message, { cause: error.cause })
  }
}

/**
 * Revokes the refresh token (RFC 7009), which ends this session and keeps the user's sign-in at the provider, and with it other
 * apps. Only if the provider does not support revocation, logs the user out instead (OpenID Connect RP-Initiated Logout). Rejects
 * with `disabled` if it supports neither: the refresh token then stays valid there.
 */
export async function signOutOfOidc(session: ProviderSession, connect: ConnectToOidc): Promise<void> {
  const connection = await connect()
  if (connection.metadata.revocation_endpoint !== undefined) {
    await revokeToken(session.refreshToken, 'refresh_token', connection)
  } else if (connection.metadata.end_session_endpoint !== undefined && session.idToken !== undefined) {
    await logOut(session.idToken, connection.metadata.end_session_endpoint, connection)
  } else {
    throw new ProviderError('disabled', 'The OpenID provider does not support ending a session from here.')
  }
}

/** Revokes one token. A token unknown to the provider is a success (RFC 7009 section 2.2). */
export async function revokeToken(
  token: string,
  kind: 'refresh_token' | 'access_token',
  { library, configuration }: OidcConnection,
): Promise<void> {
  try {
    await library.tokenRevocation(configuration, token, { token_type_hint: kind })
  } catch (error) {
    throw plainFailure(await readOidcFailure(error), 'a revocation')
  }
}

async function logOut(idToken: string, endpoint: string, connection: OidcConnection): Promise<void> {
  const { library, configuration, fetch } = connection
  // Called only for its check of the address: the token belongs in the body, where no log of the provider keeps it.
  library.buildEndSessionUrl(configuration, {})
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      id_token_hint: idToken,
      client_id: configuration.clientMetadata().client_id,
    }).toString(),
    redirect: 'manual',
    signal: AbortSignal.timeout(callTimeoutMs),
  })
  if (response.status < 400) return
  const failure = isPassing(response.status) ? 'transient' : 'protocol'
  throw new ProviderError(failure, `The OpenID provider answered ${response.status} to a logout.`)
}
