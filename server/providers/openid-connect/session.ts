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
import { profileOfClaims } from './identity.ts'
import type { ConnectToOidc, OidcConnection } from './connection.ts'
import {
  isPassing,
  type OidcFailure,
  plainFailure,
  readOidcFailure,
  refusalMessage,
  retryAfterOption,
  unusableMessage,
} from './failure.ts'
import { uncheckedIdToken } from './unchecked-id-token.ts'

// `expires_in` may be missing (RFC 6749 section 5.1). Most providers issue tokens for longer than this.
const assumedLifetimeSeconds = 300

// The provider's codes for a refresh token that cannot be used any more: it is gone, or the person must sign in.
// dex has `invalid_request` for one that is unknown, expired or replaced. Our request is the same for every session.
const terminalRefreshCodes = new Set([
  'invalid_grant',
  'invalid_request',
  'interaction_required',
  'login_required',
  'consent_required',
])

// These are about this client as a whole, not about one session.
const clientCodes = new Set(['invalid_client', 'unauthorized_client', 'temporarily_unavailable'])

/** The session in an answer of the token endpoint. What the answer leaves out stays as it was in `previous`. */
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
 * The refresh token grant. A refresh token that stays valid comes back as it was. Of a new ID token only `sub` is looked
 * at, which must not change: it comes from the provider itself, and the access token is good without it. Rejects with `terminal` only for the
 * provider's final word about this token; wrong client credentials are `transient`, as the sessions are still good.
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
  const what = 'a refresh'
  switch (failure.kind) {
    case 'refused': {
      const { status, code } = failure
      const terminal = !isPassing(status) && code !== undefined && terminalRefreshCodes.has(code)
      return new ProviderError(terminal ? 'terminal' : 'transient', refusalMessage(failure, what), {
        ...retryAfterOption(failure),
        // A gateway in front of the provider may answer so for a refresh that was done.
        outcomeKnown: !isPassing(status) || status === 429,
        refused: status >= 400 && !isPassing(status) && code !== undefined && !clientCodes.has(code),
      })
    }
    case 'unusable':
      return new ProviderError('transient', unusableMessage(failure, what), { outcomeKnown: false })
    case 'unreachable':
    case 'returned_error':
      return plainFailure(failure, what)
  }
}

/**
 * The person that a session or a token is of. The ID token of a session was checked at sign-in, or came from the provider itself.
 *
 * A claim that userinfo had at sign-in and has no more is gone: the ID token may be older.
 */
export function profileOfOidc(of: ProfileSource, probed: Claims | undefined, issuer: string): Profile {
  if (of.kind === 'identity') return profileOfClaims({ ...of.identity.claims, ...probed }, issuer)
  const { idToken, userinfo } = of.session
  const claims = readJwt(idToken ?? '')?.claims ?? {}
  if (!probed) return profileOfClaims({ ...userinfo, ...claims }, issuer)
  const kept = Object.entries(claims).filter(([name]) => !Object.hasOwn(userinfo ?? {}, name))
  return profileOfClaims({ ...Object.fromEntries(kept), ...probed }, issuer)
}

/**
 * Asks the userinfo endpoint. Any 401 is `token_refused`, regardless of its challenge: the refresh that follows decides.
 * Without that endpoint nothing can be asked, and the session counts as live until its access token ends.
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
    // Signed userinfo is a JWT and says nothing here.
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
 * Revokes the refresh token (RFC 7009), which ends this session and leaves the person's sign-in at the provider, and
 * with it other apps, alone. Only a provider that cannot revoke is asked to log the person out instead (OpenID Connect
 * RP-Initiated Logout). Rejects with `disabled` where there is neither: then the refresh token lives on there.
 */
export async function signOutOfOidc(session: ProviderSession, connect: ConnectToOidc): Promise<void> {
  const connection = await connect()
  if (connection.metadata.revocation_endpoint !== undefined) {
    await revokeToken(session.refreshToken, 'refresh_token', connection)
  } else if (connection.metadata.end_session_endpoint !== undefined && session.idToken !== undefined) {
    await logOut(session.idToken, connection.metadata.end_session_endpoint, connection)
  } else {
    throw new ProviderError('disabled', 'The OpenID provider has no way to end a session from here.')
  }
}

/** Revokes one token. A token that is unknown at the provider is a success (RFC 7009 section 2.2). */
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
  const { library, configuration, fetch, callTimeoutMs } = connection
  // Made for its check of the address only: the token belongs into the body, where no log of the provider keeps it.
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
