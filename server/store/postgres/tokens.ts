import type { GrantEndReason, GrantStore, MintedTokens, RefreshRotation } from '../../core/grant.ts'
import type { PostgresDatabase, Statement } from './database.ts'
import { type AccessTokenRow, accessTokenOf, grantColumns, grantOf, type GrantRow } from '../row.ts'
import { endPostgresGrant } from './grants.ts'

type TokenStore = Pick<
  GrantStore,
  'findAccessToken' | 'removeAccessToken' | 'findRefreshToken' | 'rotateRefreshToken'
>

const selectAccess: Statement = {
  name: 'select_access_token',
  text: `WITH token AS MATERIALIZED (
      SELECT grant_id, scope, expires_at FROM access_token WHERE hash = $1 AND expires_at - $2 > 0
    )
    SELECT ${grantColumns}, t.scope AS token_scope, t.expires_at AS token_expires_at, s.sealed AS session_sealed,
      s.issued_at AS session_issued_at, s.expires_at AS session_expires_at, s.version AS session_version
    FROM token t, grants g, provider_session s
    WHERE g.id = (SELECT grant_id FROM token) AND s.grant_id = (SELECT grant_id FROM token)
      AND g.expires_at - $2 > 0 AND g.ended_at IS NULL`,
}

// The row stays until its time: it may hold what a replay of the refresh token before it is answered with.
const removeAccess: Statement = {
  name: 'remove_access_token',
  text: 'UPDATE access_token SET expires_at = 0 WHERE hash = $1',
}

const selectRefresh: Statement = {
  name: 'select_refresh_token',
  text: `WITH token AS MATERIALIZED (SELECT grant_id, used_at FROM refresh_token WHERE hash = $1)
    SELECT ${grantColumns}, g.end_reason, (SELECT used_at FROM token) AS used_at FROM grants g
    WHERE g.id = (SELECT grant_id FROM token)`,
}

// One of many callers gets the row: the others wait for it, see that it is used, and have nothing to insert. The sealed
// pair goes into the row of its access token, which is gone after an hour, and not into that of the used refresh token,
// which stays for as long as the grant. There it is kept for a minute longer than replays need it, since clocks differ.
const rotate: Statement = {
  name: 'rotate_refresh_token',
  text: `WITH used AS (
      UPDATE refresh_token t SET used_at = $2, successor = $3
      WHERE t.hash = $1 AND t.used_at IS NULL
        AND (SELECT g.ended_at IS NULL AND g.expires_at - $2 > 0 FROM grants g WHERE g.id = t.grant_id)
      RETURNING t.grant_id, t.expires_at
    ), access AS (
      INSERT INTO access_token (hash, grant_id, scope, expires_at, kept_until, sealed_tokens)
      SELECT $3, grant_id, $4, $5::bigint, greatest($5, $2::bigint + $8 + 60), $6 FROM used
    )
    INSERT INTO refresh_token (hash, grant_id, expires_at) SELECT $7, grant_id, expires_at FROM used RETURNING hash`,
}

const selectRotation: Statement = {
  name: 'select_rotation',
  text: `SELECT t.grant_id, t.used_at, (SELECT a.sealed_tokens FROM access_token a WHERE a.hash = t.successor)
    FROM refresh_token t
    WHERE t.hash = $1 AND (SELECT g.ended_at IS NULL AND g.expires_at - $2 > 0 FROM grants g WHERE g.id = t.grant_id)`,
}

/** Access and refresh tokens of the Postgres store. */
export function createPostgresTokens(database: PostgresDatabase): TokenStore {
  /** What came of a token that could not be rotated; undefined when it can be, which a moment ago it could not. */
  async function earlierRotation(
    refreshHash: string,
    { now, replaySeconds }: { now: number; replaySeconds: number },
  ): Promise<RefreshRotation | undefined> {
    const [row] = await database.read<RotationRow>(selectRotation, [refreshHash, now])
    if (!row) return { kind: 'ended' }
    if (row.used_at === null) return undefined
    if (now - row.used_at <= replaySeconds && row.sealed_tokens !== null) {
      return { kind: 'replayed', sealedTokens: row.sealed_tokens }
    }
    const ended = await endPostgresGrant(database, row.grant_id, 'refresh_token_reuse', now)
    return { kind: ended ? 'reused' : 'ended' }
  }

  return {
    async findAccessToken(accessHash, now) {
      const [row] = await database.read<AccessTokenRow>(selectAccess, [accessHash, now])
      return row && accessTokenOf(row)
    },
    async removeAccessToken(accessHash) {
      await database.write(removeAccess, [accessHash])
    },
    async findRefreshToken(refreshHash) {
      const [row] = await database.read<RefreshRow>(selectRefresh, [refreshHash])
      return (
        row && {
          grant: grantOf(row),
          endReason: row.end_reason ?? undefined,
          usedAt: row.used_at ?? undefined,
        }
      )
    },
    async rotateRefreshToken(refreshHash, successor, options) {
      const values = rotationValues(refreshHash, successor, options)
      for (let tries = 0; tries < 3; tries += 1) {
        if ((await database.write(rotate, values)).length === 1) return { kind: 'rotated' }
        const earlier = await earlierRotation(refreshHash, options)
        if (earlier) return earlier
      }
      throw new Error('A refresh token is free each time after it could not be used.')
    },
  }
}

function rotationValues(
  presentedHash: string,
  successor: MintedTokens & { refreshHash: string; sealedTokens: string },
  { now, replaySeconds }: { now: number; replaySeconds: number },
): (string | number)[] {
  const { accessHash, scope, accessExpiresAt, sealedTokens, refreshHash } = successor
  return [presentedHash, now, accessHash, scope, accessExpiresAt, sealedTokens, refreshHash, replaySeconds]
}

interface RotationRow {
  grant_id: string
  used_at: number | null
  sealed_tokens: string | null
}

interface RefreshRow extends GrantRow {
  end_reason: GrantEndReason | null
  used_at: number | null
}
