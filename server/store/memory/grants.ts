import type {
  AuthorizationCodeRecord,
  Grant,
  GrantEndReason,
  GrantOwner,
  GrantReplays,
  GrantStore,
  MintedTokens,
  RefreshRotation,
  RotationTerms,
  StoredProviderSession,
  SuccessorTokens,
} from '../../core/session/grant.ts'
import { createMemoryGrantRecords, isOwnedBy, type MemoryGrantRecord, recordOf } from './grant-records.ts'
import { collectRows, type MemoryPart } from './part.ts'
import type { MemorySignOuts } from './sign-outs.ts'
import { differentAddresses, isReplayable, replayEnd } from '../replay.ts'
import { codeRetentionSeconds } from '../retention.ts'

interface GrantRow extends MemoryGrantRecord {
  familyHash: string | undefined
  /** None once the grant has ended. */
  session: StoredProviderSession | undefined
  lease: { owner: string; until: number } | undefined
  /** Leases on this session whose outcome nobody knows. */
  attempts: number
  /** When the provider first refused this session. */
  refusedSince: number | undefined
}

interface AccessRow {
  grantId: string
  scope: string
  expiresAt: number
  /** Set when it came of a refresh. */
  rotation: Rotation | undefined
}

/** The use of a refresh token, kept with the access token that it brought. */
interface Rotation {
  sealedTokens: string
  address: string | undefined
  accessUsedAt: number | undefined
  keptUntil: number
  /** The refresh token that was used, when it is recognised without its row. */
  replaces: string | undefined
}

interface RefreshRow {
  grantId: string
  usedAt: number | undefined
  successor: { accessHash: string; refreshHash: string } | undefined
}

interface CodeRow {
  code: AuthorizationCodeRecord
  /** None once the code is used or its session given up. */
  session: StoredProviderSession | undefined
  redeemedAt: number | undefined
}

function countReplay(
  replays: GrantReplays | undefined,
  address: string | undefined,
  terms: RotationTerms,
): GrantReplays {
  return {
    count: (replays?.count ?? 0) + 1,
    lastAt: terms.now,
    addresses: differentAddresses({ address }, terms) ?? replays?.addresses,
  }
}

/** Codes, grants, tokens and provider sessions of the memory store. */
export function createMemoryGrants(
  signOuts: MemorySignOuts,
): MemoryPart & { operations: GrantStore; sessions(): StoredProviderSession[] } {
  const codes = new Map<string, CodeRow>()
  const grants = new Map<string, GrantRow>()
  const accessTokens = new Map<string, AccessRow>()
  const refreshTokens = new Map<string, RefreshRow>()
  const renewals = new Map<string, number>()

  function addTokens(grantId: string, tokens: MintedTokens, rotation?: Rotation): void {
    const { accessHash, accessExpiresAt: expiresAt, refreshHash, scope } = tokens
    accessTokens.set(accessHash, { grantId, scope, expiresAt, rotation })
    if (refreshHash !== undefined) {
      refreshTokens.set(refreshHash, { grantId, usedAt: undefined, successor: undefined })
    }
  }

  function rotate(
    presented: string,
    token: RefreshRow,
    successor: SuccessorTokens,
    terms: RotationTerms,
  ): void {
    const { now, address, isOfFamily } = terms
    const { accessHash, refreshHash, sealedTokens } = successor
    token.usedAt = now
    token.successor = { accessHash, refreshHash }
    addTokens(token.grantId, successor, {
      sealedTokens,
      address,
      accessUsedAt: undefined,
      keptUntil: replayEnd(terms),
      replaces: isOfFamily ? presented : undefined,
    })
  }

  /** What a token that was used at `usedAt` is answered; undefined when that is reuse. */
  function replay(
    { successor }: RefreshRow,
    usedAt: number,
    row: GrantRow,
    terms: RotationTerms,
  ): RefreshRotation | undefined {
    const rotation = accessTokens.get(successor?.accessHash ?? '')?.rotation
    if (!rotation) return undefined
    const { sealedTokens, address, accessUsedAt } = rotation
    const successorUsedAt = refreshTokens.get(successor?.refreshHash ?? '')?.usedAt
    if (!isReplayable({ usedAt, address, accessUsedAt, successorUsedAt }, terms)) return undefined
    row.replays = countReplay(row.replays, address, terms)
    return { kind: 'replayed', sealedTokens, firstUse: { at: usedAt, address } }
  }

  function unredeemed(of: GrantOwner | undefined, now: number): CodeRow[] {
    return [...codes.values()]
      .filter(({ code, session }) => session && code.expiresAt > now && isOwnedBy(code.grant, of))
      .sort((one, other) => one.code.expiresAt - other.code.expiresAt)
  }

  function endGrant(row: GrantRow | undefined, reason: GrantEndReason, now: number): void {
    if (!row || row.end) return
    row.end = { at: now, reason }
    giveUp(row, now)
  }

  function giveUp(row: { session: StoredProviderSession | undefined }, now: number): void {
    if (row.session) signOuts.giveUp(row.session, now)
    row.session = undefined
  }

  function giveUpCodes(now: number, limit: number): number {
    const expired = [...codes.values()].filter(({ code, session }) => session && code.expiresAt <= now)
    for (const row of expired.slice(0, limit)) giveUp(row, now)
    return Math.min(expired.length, limit)
  }

  function endGrants(
    of: GrantOwner,
    reason: GrantEndReason,
    { now, limit }: { now: number; limit: number },
  ): Grant[] {
    const waiting = unredeemed(of, now).slice(0, limit)
    for (const row of waiting) giveUp(row, now)
    const live = [...grants.values()].filter(
      ({ grant, end }) => !end && grant.expiresAt > now && isOwnedBy(grant, of),
    )
    const ended = live.slice(0, limit - waiting.length)
    for (const row of ended) endGrant(row, reason, now)
    return [...waiting.map(({ code }) => code.grant), ...ended.map(({ grant }) => grant)]
  }

  return {
    operations: {
      ...createMemoryGrantRecords(grants),
      endGrants: async (of, reason, page) => endGrants(of, reason, page),
      addAuthorizationCode: async (code, session) =>
        void codes.set(code.codeHash, { code, session, redeemedAt: undefined }),
      findAuthorizationCode: async (codeHash) => codes.get(codeHash)?.code,
      async redeemAuthorizationCode(codeHash, tokens, now) {
        const row = codes.get(codeHash)
        if (!row) return { kind: 'unknown' }
        if (row.redeemedAt !== undefined) return { kind: 'used', redeemedAt: row.redeemedAt }
        if (row.code.expiresAt <= now || !row.session) return { kind: 'expired' }
        const { grant } = row.code
        grants.set(grant.id, {
          grant,
          familyHash: tokens.familyHash,
          replays: undefined,
          end: undefined,
          lastUse: undefined,
          session: row.session,
          lease: undefined,
          attempts: 0,
          refusedSince: undefined,
        })
        row.redeemedAt = now
        row.session = undefined
        addTokens(grant.id, tokens)
        return { kind: 'redeemed' }
      },
      listUnredeemedCodes: async (of, { now, limit }) =>
        unredeemed(of, now)
          .slice(0, limit)
          .map(({ code }) => code),
      async expireCode(codeHash, now) {
        const row = codes.get(codeHash)
        if (!row?.session || row.code.expiresAt <= now) return false
        giveUp(row, now)
        return true
      },

      async findAccessToken(accessHash, now) {
        const token = accessTokens.get(accessHash)
        const row = token && grants.get(token.grantId)
        if (!token || !row?.session) return undefined
        if (token.expiresAt <= now || row.grant.expiresAt <= now) return undefined
        const { scope, expiresAt } = token
        const awaitsFirstUse = token.rotation !== undefined && token.rotation.accessUsedAt === undefined
        return { grant: row.grant, scope, expiresAt, awaitsFirstUse, providerSession: row.session }
      },
      async recordFirstUse(accessHash, now) {
        const rotation = accessTokens.get(accessHash)?.rotation
        if (rotation) rotation.accessUsedAt ??= now
      },
      async removeAccessToken(accessHash) {
        const token = accessTokens.get(accessHash)
        // What a replay is answered with stays.
        if (token) token.expiresAt = 0
      },

      async findRefreshToken(refreshHash) {
        const token = refreshTokens.get(refreshHash)
        const row = token && grants.get(token.grantId)
        return row && { grant: row.grant, endReason: row.end?.reason, usedAt: token.usedAt }
      },
      async findGrantByFamily(familyHash) {
        const row = [...grants.values()].find((each) => each.familyHash === familyHash)
        return row && recordOf(row)
      },
      async rotateRefreshToken(refreshHash, successor, terms) {
        const token = refreshTokens.get(refreshHash)
        const row = token && grants.get(token.grantId)
        if (!row || row.end || row.grant.expiresAt <= terms.now) return { kind: 'ended' }
        if (token.usedAt === undefined) {
          rotate(refreshHash, token, successor, terms)
          return { kind: 'rotated' }
        }
        const replayed = replay(token, token.usedAt, row, terms)
        if (replayed) return replayed
        endGrant(row, 'refresh_token_reuse', terms.now)
        return { kind: 'reused' }
      },

      findProviderSession: async (grantId) => grants.get(grantId)?.session,
      async leaseProviderSession({ grantId, version, owner, until }, now) {
        const row = grants.get(grantId)
        if (row?.session?.version !== version) return { kind: 'held' }
        if (row.lease && row.lease.owner !== owner && row.lease.until > now) return { kind: 'held' }
        row.lease = { owner, until }
        row.attempts += 1
        return { kind: 'leased', attempt: row.attempts }
      },
      async releaseProviderSession({ grantId, owner, outcomeKnown, refusedAt }) {
        const row = grants.get(grantId)
        if (row?.lease?.owner !== owner) return undefined
        row.lease = undefined
        if (outcomeKnown) row.attempts -= 1
        if ((row.refusedSince ?? 0) < (row.session?.issuedAt ?? 0)) row.refusedSince = refusedAt
        return row.refusedSince
      },
      async saveProviderSession(session) {
        signOuts.replace(session)
        const row = grants.get(session.grantId)
        if (row?.session?.version !== session.version - 1) return false
        row.session = session
        row.lease = undefined
        row.attempts = 0
        return true
      },

      endGrant: async (grantId, reason, now) => endGrant(grants.get(grantId), reason, now),
      async endRefusedSession({ grantId, version }, reason, now) {
        const row = grants.get(grantId)
        if (row?.session?.version !== version) return false
        row.end = { at: now, reason }
        row.session = undefined
        return true
      },

      recordProviderRenewal: async (issuer, renewedAt) =>
        void renewals.set(issuer, Math.max(renewals.get(issuer) ?? 0, renewedAt)),
      findProviderRenewal: async (issuer) => renewals.get(issuer),
    },
    collect(now, limit) {
      let deleted = giveUpCodes(now, limit)
      const isPast = ({ code }: CodeRow): boolean => code.expiresAt + codeRetentionSeconds <= now
      deleted += collectRows(codes, isPast, limit - deleted)
      const isOut = ({ expiresAt, rotation }: AccessRow): boolean =>
        expiresAt <= now && (rotation?.keptUntil ?? 0) <= now
      deleted += collectRows(accessTokens, isOut, limit - deleted, ({ rotation }) => {
        if (rotation?.replaces !== undefined) refreshTokens.delete(rotation.replaces)
      })
      const isDead = ({ grantId }: RefreshRow): boolean => {
        const row = grants.get(grantId)
        return !row || row.end !== undefined || row.grant.expiresAt <= now
      }
      deleted += collectRows(refreshTokens, isDead, limit - deleted)
      const isOver = ({ grant }: GrantRow): boolean => grant.expiresAt <= now
      return deleted + collectRows(grants, isOver, limit - deleted, (row) => giveUp(row, now))
    },
    sealed: () => [...codes.values()].flatMap(({ session }) => (session ? [session.sealed] : [])),
    sessions: () => [...grants.values()].flatMap(({ session }) => (session ? [session] : [])),
  }
}
