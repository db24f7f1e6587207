import type { Identity } from './session-provider.ts'

/** The user behind a grant. `id` is namespaced by the provider's issuer, `sub` is the provider's own. */
export interface User {
  id: string
  sub: string
  email: string | undefined
  name: string | undefined
}

/** The user of a call, as the provider last described them. */
export interface CurrentUser extends User {
  /** True when the provider has verified that the address is theirs. */
  emailVerified: boolean
}

/** Unique over all providers. */
export function userIdOf(sub: string, providerIssuer: string): string {
  return `${providerIssuer}#${sub}`
}

/** The user of a provider's identity, as this server keeps them. */
export function userOf(identity: Identity, providerIssuer: string): User {
  return {
    id: userIdOf(identity.sub, providerIssuer),
    sub: identity.sub,
    email: identity.email,
    name: identity.name,
  }
}

/** A part of the web app that a user works in, as the app lists it. Both texts are the app's. */
export interface Workspace {
  id: string
  name: string
}

/** What a user allows a client, and may change while the grant lives. */
export interface GrantChoice {
  scope: string
  /** Undefined: the app has no workspaces, or the user is in none. */
  workspace: Workspace | undefined
}

/** A user's permission for one client: the "MCP session" of the requirement. Ends at `expiresAt` (epoch seconds), fixed at sign-in. */
export interface Grant extends GrantChoice {
  id: string
  user: User
  clientId: string
  resource: string
  createdAt: number
  expiresAt: number
}

export type GrantEndReason =
  | 'refresh_token_reuse'
  | 'code_reuse'
  | 'provider_session_ended'
  | 'provider_refresh_refused'
  | 'revoked_by_user'
  | 'revoked_by_client'
  | 'revoked_by_operator'
  | 'client_removed'
  | 'access_rule'
  | 'replaced'

/** Reports to the operator that a grant was ended for safety; contains no secrets. */
export type ReportGrantEnd = (grant: Grant, reason: GrantEndReason) => void

/** The provider's tokens of one grant as stored: sealed, with the fields that are read without opening them. */
export interface StoredProviderSession {
  grantId: string
  sealed: string
  /** When the sealed access token was issued, and when it expires; epoch seconds. */
  issuedAt: number
  expiresAt: number
  /** Increases by one with every new sealed value; fences every write. */
  version: number
}

/** A live access token with everything `/mcp` needs to authorize it. */
export interface AccessTokenRecord {
  grant: Grant
  /** The token's own; what the grant no longer has is void. */
  scope: string
  expiresAt: number
  /** It was issued by a refresh, and {@link GrantStore.recordFirstUse} has not been called for it. */
  awaitsFirstUse: boolean
  providerSession: StoredProviderSession
}

/** A refresh token that may still be presented; {@link GrantStore.rotateRefreshToken} decides whether it was used. */
export interface RefreshTokenRecord {
  grant: Grant
  endReason: GrantEndReason | undefined
  /** When it got its successor; epoch seconds. */
  usedAt: number | undefined
}

/** Use of a grant from two addresses at once, as defined in `grant-use.ts`. */
export interface TwoAddresses {
  addresses: readonly [first: string, other: string]
  /** Last occurrence; epoch seconds. */
  at: number
}

/** The latest use of a grant at `/mcp`, and its address; a refresh is none. Written in batches, so it may be some minutes old. */
export interface GrantUse {
  grantId: string
  usedAt: number
  address: string | undefined
  /** The last tool called; if omitted, the stored one stays. */
  tool?: string | undefined
  /** If omitted, the stored value stays. */
  twoAddresses?: TwoAddresses | undefined
}

/** Counts how often a grant's used refresh tokens were presented again and returned their successor. */
export interface GrantReplays {
  count: number
  lastAt: number
  /** The latest pair of differing addresses: a token's first use, and where it was presented again. */
  addresses: readonly [first: string, other: string] | undefined
}

/** A grant for display, including ended ones until they are purged. */
export interface GrantRecord {
  grant: Grant
  lastUse: { usedAt: number; address: string | undefined; tool: string | undefined } | undefined
  twoAddresses: TwoAddresses | undefined
  replays: GrantReplays | undefined
  end: { at: number; reason: GrantEndReason } | undefined
}

/** Hashes and expiries of a newly issued pair. Without a refresh token the client signs in again when the grant ends. */
export interface MintedTokens {
  scope: string
  accessHash: string
  accessExpiresAt: number
  refreshHash: string | undefined
}

export interface FirstTokens extends MintedTokens {
  /** Hash of the part that all refresh tokens of the grant share; undefined: it has none. */
  familyHash?: string | undefined
}

export interface SuccessorTokens extends MintedTokens {
  refreshHash: string
  /** The plain token pair, sealed under the token it replaces. */
  sealedTokens: string
}

/** Rules for a refresh token that was already used; times are epoch seconds, durations seconds. */
export interface RotationTerms {
  now: number
  /** How long after its use a token returns its successor while the successor is unused. */
  replaySeconds: number
  /** The same, counted from the successor's first use, by its access token or its refresh token. */
  usedReplaySeconds: number
  address: string | undefined
}

/** An authorization code, and the grant it becomes when redeemed. */
export interface AuthorizationCodeRecord {
  codeHash: string
  grant: Grant
  redirectUri: string
  codeChallenge: string
  expiresAt: number
  /** The grant that the client may have stepped up from; it ends once this code is redeemed for all that it has and more. */
  replaces?: string | undefined
}

/** Result of redeeming a code; `redeemedAt` is epoch seconds. */
export type CodeRedemption =
  | { kind: 'redeemed' }
  | { kind: 'used'; redeemedAt: number }
  | { kind: 'expired' }
  | { kind: 'unknown' }

/** Result of rotating a refresh token. `sealedTokens` is what the winner of a race stored; `firstUse` is when and from where. */
export type RefreshRotation =
  | { kind: 'rotated' }
  | { kind: 'replayed'; sealedTokens: string; firstUse: { at: number; address: string | undefined } }
  | { kind: 'reused' }
  | { kind: 'ended' }

/** `attempt` counts leases with unknown outcome, including this one: above 1, an earlier refresh may have reached the provider. */
type LeaseResult = { kind: 'leased'; attempt: number } | { kind: 'held' }

export type GrantOwner = { userId: string } | { clientId: string }

export type RefusedSessionReason = Extract<
  GrantEndReason,
  'provider_session_ended' | 'provider_refresh_refused'
>

/** Stores grants, their codes, tokens and provider sessions. Every operation is atomic, and durable when it resolves. */
export interface GrantStore {
  addAuthorizationCode(code: AuthorizationCodeRecord, session: StoredProviderSession): Promise<void>
  /** Also finds a used or expired code while its reuse must be detected: until a day after its expiry. */
  findAuthorizationCode(codeHash: string): Promise<AuthorizationCodeRecord | undefined>
  /** Redeems the code and creates its grant, provider session and tokens; exactly one caller gets `redeemed`. */
  redeemAuthorizationCode(codeHash: string, tokens: FirstTokens, now: number): Promise<CodeRedemption>
  /** Lists redeemable codes of one user, of one client or of all: approved grants not fetched yet. Earliest expiry first. */
  listUnredeemedCodes(
    of: GrantOwner | undefined,
    page: { now: number; limit: number },
  ): Promise<AuthorizationCodeRecord[]>
  /** Makes a redeemable code expire at once, and its session due for sign-out. Returns true for the call that did. */
  expireCode(codeHash: string, now: number): Promise<boolean>

  /** Token not expired, grant neither ended nor expired. */
  findAccessToken(accessHash: string, now: number): Promise<AccessTokenRecord | undefined>

  /** Records the first use of an access token issued by a refresh. Later calls for the token have no effect. */
  recordFirstUse(accessHash: string, now: number): Promise<void>

  /** Also undefined for a token that was used and purged, and for one whose ended grant is being purged. */
  findRefreshToken(refreshHash: string): Promise<RefreshTokenRecord | undefined>
  /** Finds the grant whose refresh tokens share the part that hashes to `familyHash`, until the grant itself is purged. */
  findGrantByFamily(familyHash: string): Promise<GrantRecord | undefined>
  /**
   * Within the times of `terms` a used token is `replayed`, and counted for {@link GrantRecord.replays}. Later, it is `reused`,
   * which ends the grant with `refresh_token_reuse`.
   */
  rotateRefreshToken(
    refreshHash: string,
    successor: SuccessorTokens,
    terms: RotationTerms,
  ): Promise<RefreshRotation>

  /** Undefined once the grant has ended. */
  findProviderSession(grantId: string): Promise<StoredProviderSession | undefined>
  /** Leases the right to refresh until `until`; `held` if another owner has it or `version` has changed. */
  leaseProviderSession(
    lease: { grantId: string; version: number; owner: string; until: number },
    now: number,
  ): Promise<LeaseResult>
  /**
   * Returns the lease without a new session. `outcomeKnown` false: the provider may have refreshed all the same. `refusedAt`: when
   * the provider refused this session. Resolves to the time of the first such refusal since the session was issued; undefined if
   * there was none, or another owner has the lease.
   */
  releaseProviderSession(lease: {
    grantId: string
    owner: string
    outcomeKnown: boolean
    refusedAt?: number
  }): Promise<number | undefined>
  /**
   * Compare-and-swap on `version - 1`; also ends the lease. Returns false if a newer session is stored or the grant has ended;
   * one that waits for sign-out is replaced all the same.
   */
  saveProviderSession(session: StoredProviderSession): Promise<boolean>

  /** Ends the grant and all its tokens; the first reason stays. Moves its provider session to the sign-out outbox, due at once. */
  endGrant(grantId: string, reason: GrantEndReason, now: number): Promise<void>
  /** Ends at most `limit` live grants and redeemable codes, and returns their grants. To end all, call it until it returns fewer. */
  endGrants(of: GrantOwner, reason: GrantEndReason, page: { now: number; limit: number }): Promise<Grant[]>
  /** Replaces the choice of a live grant, unless it is no longer `from`. Returns true for the call that did. Tokens stay. */
  changeGrant(change: { grantId: string; from: GrantChoice; to: GrantChoice }, now: number): Promise<boolean>
  /** Lists grants of one user, one client or all, by id, starting after `after`. */
  listGrants(of: GrantOwner | undefined, page: { after: string; limit: number }): Promise<GrantRecord[]>
  findGrant(grantId: string): Promise<GrantRecord | undefined>
  /** Returns the user of each grant with this email address, which is given in ASCII lower case. */
  findUsers(address: string): Promise<string[]>
  /** The later of two uses of a grant wins, and so does the later {@link TwoAddresses}. Ignores unknown grants. */
  recordGrantUses(uses: readonly GrantUse[]): Promise<void>
  removeAccessToken(accessHash: string): Promise<void>
  /** Only while `version` is the stored one. Returns true for the call that ended it. Nothing is left to sign out. */
  endRefusedSession(
    session: { grantId: string; version: number },
    reason: RefusedSessionReason,
    now: number,
  ): Promise<boolean>

  /** Records that the provider `issuer` renewed a session at `renewedAt`. Ignores a time earlier than the stored one. */
  recordProviderRenewal(issuer: string, renewedAt: number): Promise<void>
  findProviderRenewal(issuer: string): Promise<number | undefined>
}
