import type {
  AuthorizationCodeRecord,
  GrantEndReason,
  GrantStore,
  MintedTokens,
  StoredProviderSession,
} from '../../core/grant.ts'
import { createMemoryGrantRecords, type MemoryGrantRecord } from './grant-records.ts'
import { collectRows, type MemoryPart } from './part.ts'
import type { MemorySignOuts } from './sign-outs.ts'
import { codeRetentionSeconds } from '../retention.ts'

interface GrantRow extends MemoryGrantRecord {
  /** None once the grant has ended. */
  session: StoredProviderSession | undefined
  lease: { owner: string; until: number } | undefined
  /** Leases on this session whose outcome nobody knows. */
  attempts: number
  /** When the provider first refused this session. */
  refusedSince: number | undefined
}

interface RefreshRow {
  grantId: string
  usedAt: number | undefined
  sealedTokens: string | undefined
}

interface CodeRow {
  code: AuthorizationCodeRecord
  /** None once the code is used or its session given up. */
  session: StoredProviderSession | undefined
  redeemedAt: number | undefined
}

/** Codes, grants, tokens and provider sessions of the memory store. */
export function createMemoryGrants(
  signOuts: MemorySignOuts,
): MemoryPart & { operations: GrantStore; sessions(): StoredProviderSession[] } {
  const codes = new Map<string, CodeRow>()
  const grants = new Map<string, GrantRow>()
  const accessTokens = new Map<string, { grantId: string; scope: string; expiresAt: number }>()
  const refreshTokens = new Map<string, RefreshRow>()
  const renewals = new Map<string, number>()

  function addTokens(grantId: string, tokens: MintedTokens): void {
    const { accessHash, accessExpiresAt: expiresAt, refreshHash, scope } = tokens
    accessTokens.set(accessHash, { grantId, scope, expiresAt })
    if (refreshHash !== undefined) {
      refreshTokens.set(refreshHash, { grantId, usedAt: undefined, sealedTokens: undefined })
    }
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

  return {
    operations: {
      ...createMemoryGrantRecords(grants, endGrant),
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

      async findAccessToken(accessHash, now) {
        const token = accessTokens.get(accessHash)
        const row = token && grants.get(token.grantId)
        if (!token || !row?.session) return undefined
        if (token.expiresAt <= now || row.grant.expiresAt <= now) return undefined
        const { scope, expiresAt } = token
        return { grant: row.grant, scope, expiresAt, providerSession: row.session }
      },
      removeAccessToken: async (accessHash) => void accessTokens.delete(accessHash),

      async findRefreshToken(refreshHash) {
        const token = refreshTokens.get(refreshHash)
        const row = token && grants.get(token.grantId)
        return row && { grant: row.grant, endReason: row.end?.reason, usedAt: token.usedAt }
      },
      async rotateRefreshToken(refreshHash, successor, { now, replaySeconds }) {
        const token = refreshTokens.get(refreshHash)
        const row = token && grants.get(token.grantId)
        if (!row || row.end || row.grant.expiresAt <= now) return { kind: 'ended' }
        if (token.usedAt === undefined) {
          token.usedAt = now
          token.sealedTokens = successor.sealedTokens
          addTokens(token.grantId, successor)
          return { kind: 'rotated' }
        }
        if (now - token.usedAt <= replaySeconds && token.sealedTokens !== undefined) {
          return { kind: 'replayed', sealedTokens: token.sealedTokens }
        }
        endGrant(row, 'refresh_token_reuse', now)
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
      deleted += collectRows(accessTokens, ({ expiresAt }) => expiresAt <= now, limit - deleted)
      const isDead = ({ grantId }: RefreshRow): boolean => (grants.get(grantId)?.grant.expiresAt ?? 0) <= now
      deleted += collectRows(refreshTokens, isDead, limit - deleted)
      const isOver = ({ grant }: GrantRow): boolean => grant.expiresAt <= now
      return deleted + collectRows(grants, isOver, limit - deleted, (row) => giveUp(row, now))
    },
    sealed: () => [...codes.values()].flatMap(({ session }) => (session ? [session.sealed] : [])),
    sessions: () => [...grants.values()].flatMap(({ session }) => (session ? [session] : [])),
  }
}
