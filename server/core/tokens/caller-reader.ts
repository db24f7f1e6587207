import type { WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { readSessionCookie } from '@drawbridge/shared/session-cookie/session-cookie.ts'
import type { AccessControl } from '../access/access-control.ts'
import type { AccessAllowed } from '../access/access-rules.ts'
import type { GrantAccess } from '../access/grant-access.ts'
import { isAllowed } from '../access/glob.ts'
import { BoundedMap } from '../bounded-map.ts'
import {
  type AccessTokenRecord,
  type GrantStore,
  type StoredProviderSession,
  userIdOf,
  type Workspace,
} from '../session/grant.ts'
import { Liveness } from '../session/session-liveness.ts'
import { replaySeconds } from './refresh-token.ts'
import { heldScope, limitScope, type ScopeCatalogue } from './scope.ts'
import { hashSecret } from '../seal.ts'
import type { SessionKeeper } from '../session/session-keeper.ts'
import { type Identity, ProviderError, type SessionProvider } from '../session/session-provider.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'
import { accessTokenPrefix, issueTimeOf, tokenKey } from './token-issue.ts'
import type { WorkspaceMembership } from '../workspaces/workspace-membership.ts'
import { isPersonalToken, personalTokenPrefix } from './personal-token.ts'
import { isServiceGrant } from './service-token.ts'
import { toolsOfService } from '../session/service-session.ts'
import { type CallerResult, type CredentialKind, ServiceCallerError, type SignedInCaller } from './caller.ts'

export interface CallerPorts {
  store: Pick<GrantStore, 'findAccessToken' | 'recordFirstUse'>
  keeper: Pick<SessionKeeper, 'keep' | 'open'>
  /** Without `verify`, provider tokens are not accepted: they would prove nothing. */
  provider: Pick<SessionProvider, 'verify' | 'probe' | 'issuer'>
  access: AccessControl
  grantAccess: GrantAccess
  membership: Pick<WorkspaceMembership, 'isMember'>
  runtime: Pick<Runtime, 'now'>
  resource: string
  /** A provider token grants all of the resource's scopes. */
  scopes: ScopeCatalogue
  /** Accepts provider tokens, as bearer or as cookie. */
  sessionTokens: boolean
  /** Accepts the tokens that users make themselves. */
  personalTokens: boolean
  cookieName: string
  /** How long a provider's answer about the session of a provider token is trusted; undefined: it is not asked. */
  checkSeconds: number | undefined
}

type OwnCredential = Extract<CredentialKind, 'access_token' | 'personal_token'>

/** How long one of our tokens is remembered as invalid, and how many are. */
const deadTokenSeconds = 600
const maxDeadTokens = 10_000
const maxTokenLength = 16_384

/**
 * Recognizes callers. Every method rejects with `StoreUnavailableError`.
 *
 * Our tokens are never issued twice, so an unknown, expired or revoked one stays invalid: its hash is remembered for ten minutes,
 * so that a client which keeps sending it costs the store nothing.
 */
export class CallerReader {
  readonly #ports: CallerPorts
  readonly #deadUntil = new BoundedMap<number>(maxDeadTokens)
  readonly #liveness: Liveness

  constructor(ports: CallerPorts) {
    this.#ports = ports
    this.#liveness = new Liveness(ports)
  }

  /**
   * A token that starts like ours is never sent to the provider. An invalid header does not fall back to the cookie. A grant
   * whose provider session is gone is `invalid`; one whose token has expired while the provider cannot be asked is `unavailable`.
   * Ends the grant of a user the access rules no longer allow.
   */
  async fromAuthorization(header: string): Promise<CallerResult> {
    const match = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header.length > maxTokenLength ? '' : header)
    const token = match?.[1]
    if (token === undefined)
      return invalid(
        'The Authorization header must be Bearer, one space and one token of at most 16384 characters.',
      )
    if (token.startsWith(accessTokenPrefix)) return this.#fromAccessToken(token, 'access_token')
    if (token.startsWith(personalTokenPrefix))
      return this.#ports.personalTokens && isPersonalToken(token)
        ? this.#fromAccessToken(token, 'personal_token')
        : deadToken
    if (!this.#ports.sessionTokens || !this.#ports.provider.verify)
      return invalid('The access token was not issued by this server.')
    return this.#fromProviderToken(token, 'provider_token')
  }

  /** Recognizes the caller of the session cookies. Never refreshes: the browser's refresh token belongs to the web app. */
  async fromCookies(cookies: readonly WireCookie[]): Promise<CallerResult> {
    if (!this.#ports.sessionTokens || !this.#ports.provider.verify) return { kind: 'missing' }
    const reading = readSessionCookie(cookies, {
      name: this.#ports.cookieName,
      now: this.#ports.runtime.now(),
    })
    switch (reading.kind) {
      case 'absent':
        return { kind: 'missing' }
      case 'invalid':
        return invalid('The session cookie cannot be read. Sign in to the web app again.')
      case 'session':
        return reading.expired
          ? invalid('The session cookie has expired. Reload the web app to renew it.')
          : this.#fromProviderToken(reading.accessToken, 'session_cookie')
    }
  }

  async #fromAccessToken(token: string, credential: OwnCredential): Promise<CallerResult> {
    const hash = tokenKey(token)
    const now = this.#ports.runtime.now()
    if ((this.#deadUntil.get(hash) ?? now) > now) return deadToken
    const record = await this.#ports.store.findAccessToken(hash, now)
    // A store may be shared with a server at another address; its tokens are not valid here (RFC 8707 section 2).
    if (record?.grant.resource !== this.#ports.resource) {
      this.#deadUntil.set(hash, now + deadTokenSeconds)
      return deadToken
    }
    const kept = await this.#ports.keeper.keep(record.providerSession)
    switch (kept.kind) {
      case 'ended':
        return invalid('The sign-in behind this access token has ended. Sign in again.')
      case 'unavailable':
        return kept
      case 'live':
        return orUnavailable(() => this.#admitGrant(token, credential, record, kept.session))
    }
  }

  async #admitGrant(
    token: string,
    credential: OwnCredential,
    record: AccessTokenRecord,
    session: StoredProviderSession,
  ): Promise<CallerResult> {
    const { grant, scope, expiresAt } = record
    const { grantAccess, membership } = this.#ports
    const access = await grantAccess.enforce(grant, session)
    if (access.kind === 'denied')
      return invalid('This account may not connect any more. Ask the owner of the web app.')
    if (!(await membership.isMember(grant, session))) return { kind: 'workspace_lost', grant }
    const user = await grantAccess.userOf(grant, session)
    const rights = isServiceGrant(grant)
      ? this.#rightsOfService(access, session)
      : { credential, access, providerToken: () => this.#ports.keeper.open(session).accessToken }
    await this.#noteFirstUse(token, record)
    return {
      kind: 'caller',
      caller: {
        ...rights,
        user,
        clientId: grant.clientId,
        grantId: grant.id,
        workspace: grant.workspace,
        scope: limitScope(heldScope(grant, scope), access.scopes),
        expiresAt,
        isLive: async () => isStillGood(await this.#fromAccessToken(token, credential), grant.workspace),
      },
    }
  }

  /** A service has no user at the provider, and may be confined to some tools. */
  #rightsOfService(
    access: AccessAllowed,
    session: StoredProviderSession,
  ): Pick<SignedInCaller, 'credential' | 'access' | 'providerToken'> {
    const allow = toolsOfService(this.#ports.keeper.open(session))
    const allowsTool = (name: string): boolean =>
      isAllowed({ allow: allow ?? [], deny: [] }, name) && access.allowsTool?.(name) !== false
    return {
      credential: 'service',
      access: { ...access, ...(allow && { allowsTool }) },
      providerToken() {
        throw new ServiceCallerError()
      },
    }
  }

  /** From now on the previous refresh token is of little use. Written once per token; a store failure must not refuse the client. */
  async #noteFirstUse(token: string, { awaitsFirstUse }: AccessTokenRecord): Promise<void> {
    const { store, runtime } = this.#ports
    const now = runtime.now()
    if (!awaitsFirstUse || now - (issueTimeOf(token) ?? 0) > replaySeconds) return
    try {
      await store.recordFirstUse(tokenKey(token), now)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
    }
  }

  async #fromProviderToken(
    token: string,
    credential: 'provider_token' | 'session_cookie',
  ): Promise<CallerResult> {
    const { provider } = this.#ports
    const verify = provider.verify?.bind(provider)
    if (!verify || !readJwt(token)) return deadToken
    const admit = async (): Promise<CallerResult> => this.#admitUser(token, credential, await verify(token))
    return orUnavailable(admit, refusedToken)
  }

  async #admitUser(
    token: string,
    credential: 'provider_token' | 'session_cookie',
    identity: Identity,
  ): Promise<CallerResult> {
    const { access: control, provider, scopes } = this.#ports
    // Only now: the provider must not be asked about made-up tokens.
    const hash = hashSecret(token)
    // A verified token states its own expiry, not whether its session has ended before.
    const life =
      this.#liveness.lifeOf(hash, -Infinity) ?? (await this.#liveness.probe(hash, { accessToken: token }))
    if (life !== 'live') return refusedToken
    const probed = this.#liveness.claimsOf(hash)?.claims
    const { sub, expiresAt } = identity
    const profile = control.profileOf({ kind: 'identity', identity }, probed)
    const access = await control.decide(sub, profile)
    if (access.kind === 'denied') return { ...access, sub }
    return {
      kind: 'caller',
      caller: {
        credential,
        user: await control.describe({ id: userIdOf(sub, provider.issuer), sub }, profile),
        clientId: undefined,
        grantId: undefined,
        workspace: undefined,
        scope: limitScope(scopes.resource.join(' '), access.scopes),
        access,
        expiresAt,
        providerToken: () => token,
        isLive: async () => isStillGood(await this.#fromProviderToken(token, credential)),
      },
    }
  }
}

/** True also for an unknown state. What began in a workspace ends when the grant has another one. */
function isStillGood(result: CallerResult, workspace?: Workspace): boolean {
  if (result.kind === 'caller') return result.caller.workspace?.id === workspace?.id
  return result.kind === 'unavailable'
}

/**
 * Returns the result of `admit`; `unavailable` if the provider could not be asked. `refused`: the result for a token that the provider
 * issued, if it refuses that. A token of ours is never refused for what the provider says here: only the keeper ends a grant.
 */
async function orUnavailable(
  admit: () => Promise<CallerResult>,
  refused?: CallerResult,
): Promise<CallerResult> {
  try {
    return await admit()
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    if (refused && error.failure === 'invalid_token') return refused
    return { kind: 'unavailable', retryAfterSeconds: Math.max(error.retryAfterSeconds ?? 5, 1) }
  }
}

function invalid(description: string): CallerResult {
  return { kind: 'invalid', description }
}

const deadToken = invalid('The access token is unknown, expired or revoked.')
const refusedToken = invalid('The access token is not a valid one of the session provider.')
