import type { GrantStore, RefreshRotation, RotationTerms } from '../../core/session/grant.ts'
import { isReplayable, replayEnd } from '../rules.ts'
import {
  accessTokenColumns,
  accessTokenOf,
  type AccessTokenRow,
  awaitsFirstUse,
  grantColumns,
  recordReplay,
  refreshTokenOf,
  type RefreshTokenRow,
  replayValues,
  type TokenUseRow,
} from '../sql/grants.ts'
import { type SqlDatabase, withoutNulls } from '../sql/sql.ts'
import { endPostgresGrant } from './postgres-grants.ts'

const selectAccess = `WITH token AS MATERIALIZED (
    SELECT grant_id, scope, expires_at, ${awaitsFirstUse} FROM access_token WHERE hash = $1 AND expires_at - $2 > 0
  )
  SELECT ${accessTokenColumns} FROM token t, grants g, provider_session s
  WHERE g.id = (SELECT grant_id FROM token) AND s.grant_id = (SELECT grant_id FROM token)
    AND g.expires_at - $2 > 0 AND g.ended_at IS NULL`

const selectRefresh = `WITH token AS MATERIALIZED (SELECT grant_id, used_at FROM refresh_token WHERE hash = $1)
  SELECT ${grantColumns}, g.end_reason AS "endReason", (SELECT used_at FROM token) AS "usedAt" FROM grants g
  WHERE g.id = (SELECT grant_id FROM token)`

// One of many concurrent callers gets the row: the others wait for it, see that it is used, and have nothing to insert. The sealed
// pair is stored in the row of its access token, which is purged after an hour, together with the used refresh token: its family is
// recognized without its row.
const rotate = `WITH used AS (
      UPDATE refresh_token t SET used_at = $2, successor = $3
      WHERE t.hash = $1 AND t.used_at IS NULL
        AND (SELECT g.ended_at IS NULL AND g.expires_at - $2 > 0 FROM grants g WHERE g.id = t.grant_id)
      RETURNING t.grant_id, t.expires_at
    ), access AS (
      INSERT INTO access_token (hash, grant_id, scope, expires_at, kept_until, sealed_tokens, refresh_hash, address, replaces)
      SELECT $3, grant_id, $4, $5::bigint, greatest($5, $8), $6, $7::text, $9, $1 FROM used
    )
    INSERT INTO refresh_token (hash, grant_id, expires_at) SELECT $7::text, grant_id, expires_at FROM used RETURNING hash`

const selectRotation = `WITH token AS MATERIALIZED (
      SELECT grant_id, used_at, successor FROM refresh_token t
      WHERE t.hash = $1 AND t.used_at IS NOT NULL
        AND (SELECT g.ended_at IS NULL AND g.expires_at - $2 > 0 FROM grants g WHERE g.id = t.grant_id)
    ), access AS MATERIALIZED (
      SELECT sealed_tokens, address, first_used_at, refresh_hash FROM access_token
      WHERE hash = (SELECT successor FROM token)
    )
    SELECT t.grant_id AS "grantId", t.used_at AS "usedAt", (SELECT sealed_tokens FROM access) AS "sealedTokens",
      (SELECT address FROM access) AS address, (SELECT first_used_at FROM access) AS "accessUsedAt",
      (SELECT used_at FROM refresh_token WHERE hash = (SELECT refresh_hash FROM access)) AS "successorUsedAt"
    FROM token t`

const countReplay = recordReplay('id = $1')

/** Creates the access and refresh tokens of the Postgres store. */
export function createPostgresTokens(
  database: SqlDatabase,
): Pick<GrantStore, 'findAccessToken' | 'findRefreshToken' | 'rotateRefreshToken'> {
  /** Returns the result for a token that could not be rotated: it is used, or its grant is over. */
  async function earlierRotation(refreshHash: string, terms: RotationTerms): Promise<RefreshRotation> {
    const [row] = await database.read<RotationRow>(selectRotation, [refreshHash, terms.now])
    if (!row) return { kind: 'ended' }
    const { grantId, sealedTokens, usedAt, ...successor } = withoutNulls(row)
    const use = { usedAt, ...successor }
    if (sealedTokens !== undefined && isReplayable(use, terms)) {
      await database.write(countReplay, replayValues(grantId, use, terms))
      return { kind: 'replayed', sealedTokens, firstUse: { at: usedAt, address: use.address } }
    }
    const ended = await endPostgresGrant(database, grantId, 'refresh_token_reuse', terms.now)
    return { kind: ended ? 'reused' : 'ended' }
  }

  return {
    async findAccessToken(accessHash, now) {
      const [row] = await database.read<AccessTokenRow>(selectAccess, [accessHash, now])
      return row && accessTokenOf(row)
    },
    async findRefreshToken(refreshHash) {
      const [row] = await database.read<RefreshTokenRow>(selectRefresh, [refreshHash])
      return row && refreshTokenOf(row)
    },
    async rotateRefreshToken(refreshHash, successor, terms) {
      const { accessHash, scope, accessExpiresAt, sealedTokens } = successor
      const minted = [accessHash, scope, accessExpiresAt, sealedTokens, successor.refreshHash]
      const values = [refreshHash, terms.now, ...minted, replayEnd(terms), terms.address]
      const rotated = await database.write(rotate, values)
      return rotated.length === 1 ? { kind: 'rotated' } : earlierRotation(refreshHash, terms)
    },
  }
}

interface RotationRow extends TokenUseRow {
  grantId: string
  usedAt: number
  sealedTokens: string | null
}
