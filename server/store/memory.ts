import type { Client } from '../core/client.ts'
import type {
  AuthorizationCodeRecord,
  Grant,
  GrantEndReason,
  MintedTokens,
  StoredProviderSession,
} from '../core/grant.ts'
import type { PendingSocialSignIn } from '../core/social-sign-in.ts'
import type { Store } from '../core/store.ts'
import { codeRetentionSeconds } from './retention.ts'

interface GrantRow {
  grant: Grant
  endReason: GrantEndReason | undefined
  session: StoredProviderSession
  lease: { owner: string; until: number } | undefined
}

interface RefreshRow {
  grantId: string
  usedAt: number | undefined
  sealedTokens: string | undefined
}

interface CodeRow {
  code: AuthorizationCodeRecord
  session: StoredProviderSession
  redeemedAt: number | undefined
}

/** {@link Store} in maps: for tests and for trying things out. Everything is gone when the process ends. */
export function createMemoryStore(): Store {
  const clients = new Map<string, Client>()
  const socialSignIns = new Map<string, PendingSocialSignIn>()
  const codes = new Map<string, CodeRow>()
  const grants = new Map<string, GrantRow>()
  const accessTokens = new Map<string, { grantId: string; scope: string; expiresAt: number }>()
  const refreshTokens = new Map<string, RefreshRow>()

  function addTokens(grantId: string, tokens: MintedTokens): void {
    const { accessHash, accessExpiresAt: expiresAt, refreshHash, scope } = tokens
    accessTokens.set(accessHash, { grantId, scope, expiresAt })
    if (refreshHash !== undefined) {
      refreshTokens.set(refreshHash, { grantId, usedAt: undefined, sealedTokens: undefined })
    }
  }

  function endGrant(grantId: string, reason: GrantEndReason): void {
    const row = grants.get(grantId)
    if (row) row.endReason ??= reason
  }

  function collect<Value>(map: Map<string, Value>, isOver: (value: Value) => boolean, limit: number): number {
    let deleted = 0
    for (const [key, value] of map) {
      if (deleted >= limit) break
      if (isOver(value)) {
        map.delete(key)
        deleted += 1
      }
    }
    return deleted
  }

  return {
    addClient: async (client) => void clients.set(client.id, client),
    findClient: async (id) => clients.get(id),

    async addSocialSignIn(pending, most) {
      socialSignIns.set(pending.id, pending)
      const ofBrowser = [...socialSignIns.values()].filter(
        ({ bindingHash }) => bindingHash === pending.bindingHash,
      )
      for (const { id } of ofBrowser.slice(0, Math.max(0, ofBrowser.length - most))) socialSignIns.delete(id)
    },
    listSocialSignIns: async (bindingHash, now) =>
      [...socialSignIns.values()]
        .filter((pending) => pending.bindingHash === bindingHash && pending.expiresAt > now)
        .toReversed(),
    removeSocialSignIn: async (id) => socialSignIns.delete(id),

    addAuthorizationCode: async (code, session) =>
      void codes.set(code.codeHash, { code, session, redeemedAt: undefined }),
    findAuthorizationCode: async (codeHash) => codes.get(codeHash)?.code,
    async redeemAuthorizationCode(codeHash, tokens, now) {
      const row = codes.get(codeHash)
      if (!row) return { kind: 'unknown' }
      if (row.redeemedAt !== undefined) return { kind: 'used', redeemedAt: row.redeemedAt }
      if (row.code.expiresAt <= now) return { kind: 'expired' }
      row.redeemedAt = now
      const { grant } = row.code
      grants.set(grant.id, { grant, endReason: undefined, session: row.session, lease: undefined })
      addTokens(grant.id, tokens)
      return { kind: 'redeemed' }
    },

    async findAccessToken(accessHash, now) {
      const token = accessTokens.get(accessHash)
      const row = token && grants.get(token.grantId)
      if (!row || token.expiresAt <= now || row.endReason || row.grant.expiresAt <= now) return undefined
      const { scope, expiresAt } = token
      return { grant: row.grant, scope, expiresAt, providerSession: row.session }
    },

    async findRefreshToken(refreshHash) {
      const row = grants.get(refreshTokens.get(refreshHash)?.grantId ?? '')
      return row && { grant: row.grant, endReason: row.endReason }
    },
    async rotateRefreshToken(refreshHash, successor, { now, replaySeconds }) {
      const token = refreshTokens.get(refreshHash)
      const row = token && grants.get(token.grantId)
      if (!row || row.endReason || row.grant.expiresAt <= now) return { kind: 'ended' }
      if (token.usedAt === undefined) {
        token.usedAt = now
        token.sealedTokens = successor.sealedTokens
        addTokens(token.grantId, successor)
        return { kind: 'rotated' }
      }
      if (now - token.usedAt <= replaySeconds && token.sealedTokens !== undefined) {
        return { kind: 'replayed', sealedTokens: token.sealedTokens }
      }
      endGrant(token.grantId, 'refresh_token_reuse')
      return { kind: 'reused' }
    },

    async findProviderSession(grantId) {
      const row = grants.get(grantId)
      return row?.endReason === undefined ? row?.session : undefined
    },
    async leaseProviderSession({ grantId, version, owner, until }, now) {
      const row = grants.get(grantId)
      if (!row || row.endReason || row.session.version !== version) return false
      if (row.lease && row.lease.owner !== owner && row.lease.until > now) return false
      row.lease = { owner, until }
      return true
    },
    async releaseProviderSession({ grantId, owner }) {
      const row = grants.get(grantId)
      if (row?.lease?.owner === owner) row.lease = undefined
    },
    async saveProviderSession(session) {
      const row = grants.get(session.grantId)
      if (!row || row.session.version !== session.version - 1) return false
      row.session = session
      row.lease = undefined
      return true
    },

    endGrant: async (grantId, reason) => endGrant(grantId, reason),

    async collectExpired(now, limit) {
      let deleted = collect(socialSignIns, ({ expiresAt }) => expiresAt <= now, limit)
      deleted += collect(codes, ({ code }) => code.expiresAt + codeRetentionSeconds <= now, limit - deleted)
      deleted += collect(accessTokens, ({ expiresAt }) => expiresAt <= now, limit - deleted)
      const dead = (grantId: string): boolean => (grants.get(grantId)?.grant.expiresAt ?? 0) <= now
      deleted += collect(refreshTokens, ({ grantId }) => dead(grantId), limit - deleted)
      return deleted + collect(grants, ({ grant }) => grant.expiresAt <= now, limit - deleted)
    },
    close: async () => {},
  }
}
