import type { DatabaseSync } from 'node:sqlite'
import type {
  AccessTokenRecord,
  AuthorizationCodeRecord,
  Grant,
  GrantEndReason,
  GrantStore,
  MintedTokens,
} from '../core/grant.ts'
import type { ProviderSessionStore } from './sqlite-provider-sessions.ts'
import type { Transaction } from './sqlite-transaction.ts'

/** Codes, grants and tokens of the SQLite store. */
export function createSqliteGrants(
  database: DatabaseSync,
  transaction: Transaction,
): Omit<GrantStore, keyof ProviderSessionStore> {
  const sql = prepareGrantStatements(database)

  function addTokens(grant: Pick<Grant, 'id' | 'expiresAt'>, tokens: MintedTokens): void {
    sql.insertAccess.run(tokens.accessHash, grant.id, tokens.scope, tokens.accessExpiresAt)
    if (tokens.refreshHash !== undefined) sql.insertRefresh.run(tokens.refreshHash, grant.id, grant.expiresAt)
  }

  function addGrant({ user, ...grant }: Grant): void {
    sql.insertGrant.run(
      grant.id,
      user.id,
      user.sub,
      user.email ?? null,
      user.name ?? null,
      grant.clientId,
      grant.resource,
      grant.scope,
      grant.createdAt,
      grant.expiresAt,
    )
  }

  return {
    async addAuthorizationCode(code, session) {
      sql.insertCode.run(
        code.codeHash,
        JSON.stringify(code.grant),
        code.redirectUri,
        code.codeChallenge,
        code.expiresAt,
        session.sealed,
        session.issuedAt,
        session.expiresAt,
        session.version,
      )
    },
    async findAuthorizationCode(codeHash) {
      const row = sql.selectCode.get(codeHash)
      return row && codeOf(row as unknown as CodeRow)
    },
    redeemAuthorizationCode: async (codeHash, tokens, now) =>
      transaction(() => {
        const row = sql.selectCode.get(codeHash) as unknown as CodeRow | undefined
        if (!row) return { kind: 'unknown' }
        if (row.redeemed_at !== null) return { kind: 'used', redeemedAt: row.redeemed_at }
        if (row.expires_at <= now) return { kind: 'expired' }
        const { grant } = codeOf(row)
        addGrant(grant)
        sql.moveSession.run(grant.id, codeHash)
        sql.useCode.run(now, codeHash)
        addTokens(grant, tokens)
        return { kind: 'redeemed' }
      }),

    async findAccessToken(accessHash, now) {
      const row = sql.selectAccess.get(accessHash, now, now)
      return row && accessTokenOf(row as unknown as AccessRow)
    },

    async findRefreshToken(refreshHash) {
      const row = sql.selectRefresh.get(refreshHash) as unknown as RefreshRow | undefined
      return row && { grant: grantOf(row), endReason: row.end_reason ?? undefined }
    },
    rotateRefreshToken: async (refreshHash, successor, { now, replaySeconds }) =>
      transaction(() => {
        const row = sql.selectRefresh.get(refreshHash) as unknown as RefreshRow | undefined
        if (!row || row.end_reason !== null || row.expires_at <= now) return { kind: 'ended' }
        if (row.used_at === null) {
          sql.useRefresh.run(now, successor.sealedTokens, refreshHash)
          addTokens({ id: row.id, expiresAt: row.expires_at }, successor)
          return { kind: 'rotated' }
        }
        if (now - row.used_at <= replaySeconds && row.sealed_tokens !== null) {
          return { kind: 'replayed', sealedTokens: row.sealed_tokens }
        }
        sql.endGrant.run(now, 'refresh_token_reuse', row.id)
        return { kind: 'reused' }
      }),

    endGrant: async (grantId, reason, now) => void sql.endGrant.run(now, reason, grantId),
  }
}

function prepareGrantStatements(database: DatabaseSync) {
  return {
    insertCode: database.prepare(
      `INSERT INTO authorization_code (code_hash, grant_json, redirect_uri, code_challenge, expires_at,
         session_sealed, session_issued_at, session_expires_at, session_version)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    selectCode: database.prepare('SELECT * FROM authorization_code WHERE code_hash = ?'),
    moveSession: database.prepare(
      `INSERT INTO provider_session (grant_id, sealed, issued_at, expires_at, version)
       SELECT ?, session_sealed, session_issued_at, session_expires_at, session_version
       FROM authorization_code WHERE code_hash = ?`,
    ),
    useCode: database.prepare(
      'UPDATE authorization_code SET redeemed_at = ?, session_sealed = NULL WHERE code_hash = ?',
    ),
    insertGrant: database.prepare(
      `INSERT INTO grants (id, user_id, user_sub, user_email, user_name, client_id, resource, scope, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertAccess: database.prepare(
      'INSERT INTO access_token (hash, grant_id, scope, expires_at) VALUES (?, ?, ?, ?)',
    ),
    insertRefresh: database.prepare(
      'INSERT INTO refresh_token (hash, grant_id, expires_at) VALUES (?, ?, ?)',
    ),
    selectAccess: database.prepare(
      `SELECT g.*, t.scope AS token_scope, t.expires_at AS token_expires_at, s.sealed AS session_sealed,
         s.issued_at AS session_issued_at, s.expires_at AS session_expires_at, s.version AS session_version
       FROM access_token t JOIN grants g ON g.id = t.grant_id JOIN provider_session s ON s.grant_id = g.id
       WHERE t.hash = ? AND t.expires_at > ? AND g.ended_at IS NULL AND g.expires_at > ?`,
    ),
    selectRefresh: database.prepare(
      `SELECT g.*, t.used_at, t.sealed_tokens FROM refresh_token t JOIN grants g ON g.id = t.grant_id
       WHERE t.hash = ?`,
    ),
    useRefresh: database.prepare('UPDATE refresh_token SET used_at = ?, sealed_tokens = ? WHERE hash = ?'),
    endGrant: database.prepare(
      'UPDATE grants SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL',
    ),
  }
}

interface CodeRow {
  code_hash: string
  grant_json: string
  redirect_uri: string
  code_challenge: string
  expires_at: number
  redeemed_at: number | null
}

function codeOf(row: CodeRow): AuthorizationCodeRecord {
  return {
    codeHash: row.code_hash,
    grant: JSON.parse(row.grant_json) as Grant,
    redirectUri: row.redirect_uri,
    codeChallenge: row.code_challenge,
    expiresAt: row.expires_at,
  }
}

interface GrantRow {
  id: string
  user_id: string
  user_sub: string
  user_email: string | null
  user_name: string | null
  client_id: string
  resource: string
  scope: string
  created_at: number
  expires_at: number
  end_reason: GrantEndReason | null
}

interface RefreshRow extends GrantRow {
  used_at: number | null
  sealed_tokens: string | null
}

interface AccessRow extends GrantRow {
  token_scope: string
  token_expires_at: number
  session_sealed: string
  session_issued_at: number
  session_expires_at: number
  session_version: number
}

function grantOf(row: GrantRow): Grant {
  return {
    id: row.id,
    user: {
      id: row.user_id,
      sub: row.user_sub,
      email: row.user_email ?? undefined,
      name: row.user_name ?? undefined,
    },
    clientId: row.client_id,
    resource: row.resource,
    scope: row.scope,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

function accessTokenOf(row: AccessRow): AccessTokenRecord {
  return {
    grant: grantOf(row),
    scope: row.token_scope,
    expiresAt: row.token_expires_at,
    providerSession: {
      grantId: row.id,
      sealed: row.session_sealed,
      issuedAt: row.session_issued_at,
      expiresAt: row.session_expires_at,
      version: row.session_version,
    },
  }
}
