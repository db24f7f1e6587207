import type { Identity } from './session-provider.ts'

/** The person behind a grant. `id` is namespaced by the provider's issuer, `sub` is the provider's own. */
export interface User {
  id: string
  sub: string
  email: string | undefined
  name: string | undefined
}

/** The id of the user that a provider names `sub`. */
export function userIdOf(sub: string, providerIssuer: string): string {
  return `${providerIssuer}#${sub}`
}

/** The {@link User} that a provider's verified identity stands for. */
export function userOf(identity: Identity, providerIssuer: string): User {
  return {
    id: userIdOf(identity.sub, providerIssuer),
    sub: identity.sub,
    email: identity.email,
    name: identity.name,
  }
}

/** What a user allowed one client: the "MCP session" of the requirement. Ends at `expiresAt` (epoch seconds), fixed at sign-in. */
export interface Grant {
  id: string
  user: User
  clientId: string
  resource: string
  scope: string
  createdAt: number
  expiresAt: number
}

/** Why a grant ended before its time. */
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

/** Tells the operator that a grant was ended for safety; nothing secret is in it. */
export type ReportGrantEnd = (grant: Grant, reason: GrantEndReason) => void

/** The provider's tokens of one grant as stored: sealed, with what must be known without opening them. */
export interface StoredProviderSession {
  grantId: string
  sealed: string
  /** When the sealed access token was issued and when it expires, epoch seconds. */
  issuedAt: number
  expiresAt: number
  /** Grows by one with every new sealed value; the fence of every write. */
  version: number
}

/** A live access token with everything `/mcp` needs to decide. */
export interface AccessTokenRecord {
  grant: Grant
  scope: string
  expiresAt: number
  /** It was issued by a refresh, and {@link GrantStore.recordFirstUse} has not been called for it. */
  awaitsFirstUse: boolean
  providerSession: StoredProviderSession
}

/** A refresh token that may still be presented; whether it was used is for {@link GrantStore.rotateRefreshToken} to say. */
export interface RefreshTokenRecord {
  grant: Grant
  endReason: GrantEndReason | undefined
  /** When it got its successor; epoch seconds. */
  usedAt: number | undefined
}

/** That a grant was used from two addresses at once, in the sense of `grant-use.ts`. */
export interface TwoAddresses {
  addresses: readonly [first: string, other: string]
  /** When it was last seen; epoch seconds. */
  at: number
}

/** That a grant was used: when, and from which address. Noted in batches, so it may be some minutes old. */
export interface GrantUse {
  grantId: string
  usedAt: number
  address: string | undefined
  /** The tool that was called last; without one, what is stored stays. */
  tool?: string | undefined
  /** Without it, what is stored stays. */
  twoAddresses?: TwoAddresses | undefined
}

/** How often a used refresh token of a grant was presented again and answered with its successor. */
export interface GrantReplays {
  count: number
  lastAt: number
  /** Where one token was first used and where it was presented again, the last time that the two differed. */
  addresses: readonly [first: string, other: string] | undefined
}

/** A grant as people look at it, until it is collected: also one that has ended. */
export interface GrantRecord {
  grant: Grant
  lastUse: { usedAt: number; address: string | undefined; tool: string | undefined } | undefined
  /** Undefined: never. */
  twoAddresses: TwoAddresses | undefined
  /** Undefined: never. */
  replays: GrantReplays | undefined
  end: { at: number; reason: GrantEndReason } | undefined
}

/** Hashes and ends of a freshly minted pair. Without a refresh token the client signs in again when the grant ends. */
export interface MintedTokens {
  scope: string
  accessHash: string
  accessExpiresAt: number
  refreshHash: string | undefined
}

/** The first {@link MintedTokens} of a grant. */
export interface FirstTokens extends MintedTokens {
  /** Hash of the part that all refresh tokens of the grant share; undefined: they share none. */
  familyHash?: string | undefined
}

/** The {@link MintedTokens} that replace a refresh token. */
export interface SuccessorTokens extends MintedTokens {
  refreshHash: string
  /** The pair in the clear, sealed under the token that it replaces. */
  sealedTokens: string
}

/** What decides how a refresh token that was used before is answered; times are epoch seconds and seconds. */
export interface RotationTerms {
  now: number
  /** How long after its use a token is answered with its successor, as long as nobody has used the successor. */
  replaySeconds: number
  /** The same from the first use of the successor on: of its access token or its refresh token, whichever comes first. */
  usedReplaySeconds: number
  /** Where the request came from; undefined: not known. */
  address: string | undefined
  /** Whether {@link GrantStore.findGrantByFamily} knows the presented token without its row, so that the row may be collected. */
  isOfFamily: boolean
}

/** An authorization code and the grant that it becomes when it is redeemed. */
export interface AuthorizationCodeRecord {
  codeHash: string
  grant: Grant
  redirectUri: string
  codeChallenge: string
  expiresAt: number
}

/** How an attempt to use a code up ended; `redeemedAt` is epoch seconds. */
export type CodeRedemption =
  | { kind: 'redeemed' }
  | { kind: 'used'; redeemedAt: number }
  | { kind: 'expired' }
  | { kind: 'unknown' }

/**
 * How an attempt to rotate a refresh token ended. `sealedTokens` is what the winner of a race stored, `firstUse` when and from
 * where that was.
 */
export type RefreshRotation =
  | { kind: 'rotated' }
  | { kind: 'replayed'; sealedTokens: string; firstUse: { at: number; address: string | undefined } }
  | { kind: 'reused' }
  | { kind: 'ended' }

/**
 * The outcome of an attempt to lease the right to refresh. `attempt` counts the leases on this session with unknown
 * outcome, this one included: above 1, an earlier refresh may have reached the provider.
 */
export type LeaseResult = { kind: 'leased'; attempt: number } | { kind: 'held' }

/** Selects the grants of one user or one client. */
export type GrantOwner = { userId: string } | { clientId: string }

/** Why a provider session is deleted at the word of its provider, and its grant ended. */
export type RefusedSessionReason = Extract<
  GrantEndReason,
  'provider_session_ended' | 'provider_refresh_refused'
>

/** Where grants, their codes, tokens and provider sessions live. Every operation is atomic and durable when it resolves. */
export interface GrantStore {
  addAuthorizationCode(code: AuthorizationCodeRecord, session: StoredProviderSession): Promise<void>
  /** Also one that is used or expired, for as long as its reuse must be noticed: a day past its end. */
  findAuthorizationCode(codeHash: string): Promise<AuthorizationCodeRecord | undefined>
  /** Uses the code up and creates its grant, provider session and tokens; exactly one caller gets `redeemed`. */
  redeemAuthorizationCode(codeHash: string, tokens: FirstTokens, now: number): Promise<CodeRedemption>
  /**
   * Codes that can still be redeemed, of one user, of one client or of all: what was allowed and has not been fetched. Those that
   * expire first come first.
   */
  listUnredeemedCodes(
    of: GrantOwner | undefined,
    page: { now: number; limit: number },
  ): Promise<AuthorizationCodeRecord[]>
  /** Makes a code that can still be redeemed expire at once, and its session due for sign-out. True for the call that did. */
  expireCode(codeHash: string, now: number): Promise<boolean>

  /** Only what is live at `now`: token not expired, grant neither ended nor expired. */
  findAccessToken(accessHash: string, now: number): Promise<AccessTokenRecord | undefined>

  /**
   * Records the first use of an access token that was issued by a refresh. Later calls for the token change nothing.
   */
  recordFirstUse(accessHash: string, now: number): Promise<void>

  /** Undefined also for a token that was used and is collected, and for one whose grant has ended and is being collected. */
  findRefreshToken(refreshHash: string): Promise<RefreshTokenRecord | undefined>
  /** The grant whose refresh tokens share what hashes to `familyHash`, until the grant itself is collected. */
  findGrantByFamily(familyHash: string): Promise<GrantRecord | undefined>
  /**
   * Gives the token its one successor. Presented again within the time of `terms`: `replayed`, which is counted for
   * {@link GrantRecord.replays}. Later: the grant ends with `refresh_token_reuse` as by {@link GrantStore.endGrant}, and the
   * answer is `reused`.
   */
  rotateRefreshToken(
    refreshHash: string,
    successor: SuccessorTokens,
    terms: RotationTerms,
  ): Promise<RefreshRotation>

  /** Of a grant that has not ended. */
  findProviderSession(grantId: string): Promise<StoredProviderSession | undefined>
  /** Takes the right to refresh until `until`; `held` when another has it or `version` has moved on. */
  leaseProviderSession(
    lease: { grantId: string; version: number; owner: string; until: number },
    now: number,
  ): Promise<LeaseResult>
  /**
   * Gives the lease back without a new session. `outcomeKnown` false: the provider may have refreshed all the same.
   * `refusedAt`: the provider refused this session then. Resolves to the time of the first such refusal since the session
   * was issued; undefined when there was none, or the lease is another's.
   */
  releaseProviderSession(lease: {
    grantId: string
    owner: string
    outcomeKnown: boolean
    refusedAt?: number
  }): Promise<number | undefined>
  /**
   * Compare-and-swap on `version - 1`; also ends the lease. False when a newer session is already stored or the grant
   * has ended; a session that waits for its sign-out is replaced all the same, so that the newest is signed out.
   */
  saveProviderSession(session: StoredProviderSession): Promise<boolean>

  /**
   * Ends the grant and all its tokens; the first reason stays. Its provider session goes to the
   * outbox of sign-outs, due at once.
   */
  endGrant(grantId: string, reason: GrantEndReason, now: number): Promise<void>
  /**
   * Ends at most `limit` of the live grants of a user or of a client, as by {@link GrantStore.endGrant}, and of the codes
   * that would become one, as by {@link GrantStore.expireCode}, and answers which grants. To end all of them, call it until
   * fewer than `limit` are returned.
   */
  endGrants(of: GrantOwner, reason: GrantEndReason, page: { now: number; limit: number }): Promise<Grant[]>
  /** Grants of one user, of one client or of all, by id, those after `after`. */
  listGrants(of: GrantOwner | undefined, page: { after: string; limit: number }): Promise<GrantRecord[]>
  /** Undefined when it is unknown or collected. */
  findGrant(grantId: string): Promise<GrantRecord | undefined>
  /**
   * Notes uses; of two of one grant the later one stays, and of two {@link TwoAddresses}, also when another instance has noted a
   * later use. Unknown grants are passed over.
   */
  recordGrantUses(uses: readonly GrantUse[]): Promise<void>
  /** Makes one access token useless; its grant goes on. */
  removeAccessToken(accessHash: string): Promise<void>
  /**
   * Ends the grant, because the provider refused this very session: only while `version` is the stored one. True for
   * the call that ended it. Nothing is left to sign out, and the sealed session is deleted.
   */
  endRefusedSession(
    session: { grantId: string; version: number },
    reason: RefusedSessionReason,
    now: number,
  ): Promise<boolean>

  /** Records that the provider `issuer` renewed a session at `renewedAt`. An earlier time than the stored one changes nothing. */
  recordProviderRenewal(issuer: string, renewedAt: number): Promise<void>
  /** The last recorded time at which the provider `issuer` renewed a session, of any grant at any instance. */
  findProviderRenewal(issuer: string): Promise<number | undefined>
}
