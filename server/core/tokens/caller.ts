import type { WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { readSessionCookie } from '@drawbridge/shared/session-cookie/session-cookie.ts'
import type { AccessControl } from '../access/access-control.ts'
import type { AccessAllowed } from '../access/access-rules.ts'
import type { GrantAccess } from '../access/grant-access.ts'
import { type BoundedMap, createBoundedMap } from '../bounded-map.ts'
import {
  type AccessTokenRecord,
  type GrantStore,
  type StoredProviderSession,
  type User,
  userOf,
} from '../session/grant.ts'
import { createLiveness, type Liveness } from '../session/liveness.ts'
import { replaySeconds } from './refresh-token.ts'
import { limitScope, type ScopeCatalogue } from './scope.ts'
import { hashSecret } from '../seal.ts'
import type { SessionKeeper } from '../session/session-keeper.ts'
import { ProviderError, type SessionProvider } from '../session/session-provider.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'
import { accessTokenPrefix, issueTimeOf, tokenKey } from './token-issue.ts'

/** By which of the three credentials a caller was recognised. */
export type CredentialKind = 'access_token' | 'provider_token' | 'session_cookie'

/** Who calls `/mcp`. */
export type Caller = SignedInCaller | AnonymousCaller

/** Somebody who is proven. */
export interface SignedInCaller extends CallerRights {
  credential: CredentialKind
  user: User
  clientId: string | undefined
  /** The grant of a token of ours; undefined for the provider's own credentials. */
  grantId: string | undefined
}

/** Somebody without any credential, for whom only public tools are there. */
export interface AnonymousCaller extends CallerRights {
  credential: 'none'
  user: undefined
  clientId: undefined
  grantId: undefined
}

interface CallerRights {
  /** What the credential allows, without what the access rules do not allow this person. */
  scope: string
  /** What the access rules allow this person. */
  access: AccessAllowed
  /** When the credential itself ends, epoch seconds. */
  expiresAt: number
  /**
   * The user's current token at the session provider, for calls made as the user. Never goes to the client. Throws
   * {@link SignInNeededError} for an anonymous caller.
   */
  providerToken(): string
  /**
   * Checks again whether the credential is good, for a response that stays open. An unknown state counts as good.
   * Rejects with `StoreUnavailableError`.
   */
  isLive(): Promise<boolean>
}

/** An anonymous caller came to something that is a person's. */
export class SignInNeededError extends Error {
  override name = 'SignInNeededError'

  constructor() {
    super('Nobody is signed in. A public tool finds out by context.user, which is undefined then.')
  }
}

/** The caller as somebody who is proven. Throws {@link SignInNeededError} for an anonymous caller. */
export function signedIn(caller: Caller): SignedInCaller {
  if (!caller.user) throw new SignInNeededError()
  return caller
}

/** The caller of a request without credential, who sees the tools that `access` leaves. */
export function anonymousCaller(access: AccessAllowed): AnonymousCaller {
  return {
    credential: 'none',
    user: undefined,
    clientId: undefined,
    grantId: undefined,
    scope: '',
    access,
    expiresAt: Infinity,
    providerToken() {
      throw new SignInNeededError()
    },
    isLive: async () => true,
  }
}

/** Why a request has no caller. `description` is for the client, generic enough to be no oracle. */
export type CallerResult =
  | { kind: 'caller'; caller: SignedInCaller }
  | { kind: 'missing' }
  | { kind: 'invalid'; description: string }
  /** The credential is good, but the access rules do not let this person in. `rule` is the number of the one that decided. */
  | { kind: 'denied'; sub: string; rule: number | undefined }
  | { kind: 'unavailable'; retryAfterSeconds: number }

/** What recognising a caller needs from outside. */
export interface CallerPorts {
  store: Pick<GrantStore, 'findAccessToken' | 'recordFirstUse'>
  keeper: Pick<SessionKeeper, 'keep' | 'open'>
  /** Without `verify`, tokens of the provider prove nothing and are not accepted. */
  provider: Pick<SessionProvider, 'verify' | 'probe' | 'issuer'>
  access: AccessControl
  grantAccess: GrantAccess
  runtime: Pick<Runtime, 'now'>
  /** The one resource that tokens of ours must be for. */
  resource: string
  /** A provider token allows all of the resource's scopes. */
  scopes: ScopeCatalogue
  /** Whether provider tokens are accepted at all, as bearer or as cookie. */
  sessionTokens: boolean
  cookieName: string
  /**
   * How long an answer of the provider about the session of a provider token is trusted; undefined: it is not asked.
   */
  checkSeconds: number | undefined
}

/** Recognises callers; remembers a little about tokens between requests. Rejects with `StoreUnavailableError`. */
export interface CallerReader {
  /**
   * The caller that an `Authorization` header names: a token of ours, else a token of the session provider.
   *
   * A token that starts like ours is only ever looked up here, never shown to the provider. There is no way from a bad
   * header to the cookie. A grant whose provider session is gone is `invalid`; one whose provider cannot be asked right
   * now, and whose token has run out, is `unavailable`. The grant of somebody whom the access rules no longer let in is ended.
   */
  fromAuthorization(header: string): Promise<CallerResult>
  /** The caller that the session cookies name. Never refreshes: the browser's refresh token belongs to the web app. */
  fromCookies(cookies: readonly WireCookie[]): Promise<CallerResult>
}

const maxTokenLength = 16_384

/** How long a token of ours is remembered to be of no use, and how many are. */
const deadTokenSeconds = 600
const maxDeadTokens = 10_000

/**
 * Creates the {@link CallerReader}.
 *
 * A token of ours that is unknown, expired or revoked stays so, as none is ever issued twice: it is remembered by its
 * hash for ten minutes, so that a client which keeps sending a dead one costs the store nothing.
 */
export function createCallerReader(ports: CallerPorts): CallerReader {
  const memory: CallerMemory = {
    deadUntil: createBoundedMap(maxDeadTokens),
    liveness: createLiveness(ports),
  }
  return {
    fromAuthorization: (header) => readAuthorization(header, ports, memory),
    fromCookies: (cookies) => readCookies(cookies, ports, memory),
  }
}

/** Keys are hashes of tokens. */
interface CallerMemory {
  deadUntil: BoundedMap<number>
  liveness: Liveness
}

async function readAuthorization(
  header: string,
  ports: CallerPorts,
  memory: CallerMemory,
): Promise<CallerResult> {
  const match = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header.length > maxTokenLength ? '' : header)
  const token = match?.[1]
  if (token === undefined) {
    return {
      kind: 'invalid',
      description:
        'The Authorization header must be Bearer, one space and one token of at most 16384 characters.',
    }
  }
  if (token.startsWith(accessTokenPrefix)) return callerFromAccessToken(token, ports, memory)
  if (!ports.sessionTokens || !ports.provider.verify)
    return { kind: 'invalid', description: 'The access token is not one of this server.' }
  return callerFromProviderToken(token, 'provider_token', ports, memory)
}

async function readCookies(
  cookies: readonly WireCookie[],
  ports: CallerPorts,
  memory: CallerMemory,
): Promise<CallerResult> {
  if (!ports.sessionTokens || !ports.provider.verify) return { kind: 'missing' }
  const reading = readSessionCookie(cookies, { name: ports.cookieName, now: ports.runtime.now() })
  switch (reading.kind) {
    case 'absent':
      return { kind: 'missing' }
    case 'invalid':
      return {
        kind: 'invalid',
        description: 'The session cookie cannot be read. Sign in to the web app again.',
      }
    case 'session':
      return reading.expired
        ? { kind: 'invalid', description: 'The session cookie has expired. Reload the web app to renew it.' }
        : callerFromProviderToken(reading.accessToken, 'session_cookie', ports, memory)
  }
}

async function callerFromAccessToken(
  token: string,
  ports: CallerPorts,
  memory: CallerMemory,
): Promise<CallerResult> {
  const hash = tokenKey(token)
  const now = ports.runtime.now()
  if ((memory.deadUntil.get(hash) ?? now) > now) return deadToken
  const record = await ports.store.findAccessToken(hash, now)
  // A store may be shared with a server at another address; its tokens are not valid here (RFC 8707 section 2).
  if (record?.grant.resource !== ports.resource) {
    memory.deadUntil.set(hash, now + deadTokenSeconds)
    return deadToken
  }
  const kept = await ports.keeper.keep(record.providerSession)
  switch (kept.kind) {
    case 'ended':
      return {
        kind: 'invalid',
        description: 'The sign-in behind this access token has ended. Sign in again.',
      }
    case 'unavailable':
      return kept
    case 'live':
      return admitGrant(token, record, kept.session, ports, memory)
  }
}

async function admitGrant(
  token: string,
  record: AccessTokenRecord,
  session: StoredProviderSession,
  ports: CallerPorts,
  memory: CallerMemory,
): Promise<CallerResult> {
  const { grant, scope, expiresAt } = record
  const access = await answered(() => ports.grantAccess.enforce(grant, session))
  if (access.kind === 'unavailable') return access
  if (access.kind === 'denied') {
    return {
      kind: 'invalid',
      description: 'This account may not connect any more. Ask the owner of the web app.',
    }
  }
  await noteFirstUse(token, record, ports)
  return {
    kind: 'caller',
    caller: {
      credential: 'access_token',
      user: grant.user,
      clientId: grant.clientId,
      grantId: grant.id,
      scope: limitScope(scope, access.scopes),
      access,
      expiresAt,
      providerToken: () => ports.keeper.open(session).accessToken,
      isLive: async () => isStillGood(await callerFromAccessToken(token, ports, memory)),
    },
  }
}

/** An unknown state counts as good. */
function isStillGood({ kind }: CallerResult): boolean {
  return kind !== 'invalid' && kind !== 'denied'
}

/** What `ask` answers, or that the provider could not be asked. */
async function answered<Answer>(
  ask: () => Promise<Answer>,
): Promise<Answer | { kind: 'unavailable'; retryAfterSeconds: number }> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ProviderError) return unavailable(error)
    throw error
  }
}

function unavailable({ retryAfterSeconds }: ProviderError): Extract<CallerResult, { kind: 'unavailable' }> {
  return { kind: 'unavailable', retryAfterSeconds: Math.max(retryAfterSeconds ?? 5, 1) }
}

/**
 * Says that the client has the tokens that its refresh brought: from now on the refresh token before is of little use. Written
 * once for each token, and only while that matters. A store that cannot take it must not keep the client out.
 */
async function noteFirstUse(
  token: string,
  { awaitsFirstUse }: AccessTokenRecord,
  { store, runtime }: CallerPorts,
): Promise<void> {
  const now = runtime.now()
  if (!awaitsFirstUse || now - (issueTimeOf(token) ?? 0) > replaySeconds) return
  try {
    await store.recordFirstUse(tokenKey(token), now)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
  }
}

async function callerFromProviderToken(
  token: string,
  credential: 'provider_token' | 'session_cookie',
  ports: CallerPorts,
  memory: CallerMemory,
): Promise<CallerResult> {
  if (!ports.provider.verify || !readJwt(token)) return deadToken
  try {
    const identity = await ports.provider.verify(token)
    // Only now: the provider must not be asked about what anybody may make up.
    if (!(await isLive(token, memory.liveness))) return refusedToken
    const probed = memory.liveness.claimsOf(hashSecret(token))?.claims
    const access = await ports.access.decideAbout(identity, probed)
    if (access.kind === 'denied') return { kind: 'denied', sub: identity.sub, rule: access.rule }
    return {
      kind: 'caller',
      caller: {
        credential,
        user: userOf(identity, ports.provider.issuer),
        clientId: undefined,
        grantId: undefined,
        scope: limitScope(ports.scopes.resource.join(' '), access.scopes),
        access,
        expiresAt: identity.expiresAt,
        providerToken: () => token,
        isLive: async () => isStillGood(await callerFromProviderToken(token, credential, ports, memory)),
      },
    }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    return error.failure === 'invalid_token' ? refusedToken : unavailable(error)
  }
}

async function isLive(token: string, liveness: Liveness): Promise<boolean> {
  const hash = hashSecret(token)
  // A verified token says when it ends, not that its session has not ended before.
  return (liveness.lifeOf(hash, -Infinity) ?? (await liveness.probe(hash, token))) === 'live'
}

const deadToken: CallerResult = {
  kind: 'invalid',
  description: 'The access token is unknown, expired or revoked.',
}

const refusedToken: CallerResult = {
  kind: 'invalid',
  description: 'The access token is not a valid one of the session provider.',
}
