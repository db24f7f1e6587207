import type { GrantStore, RefreshRotation, RotationTerms, SuccessorTokens } from '../../core/session/grant.ts'
import type { PostgresDatabase, Statement } from './database.ts'
import { differentAddresses, isReplayable, replayEnd } from '../rules.ts'
import {
  type AccessTokenRow,
  accessTokenOf,
  grantColumns,
  grantRecordColumns,
  grantRecordOf,
  type GrantRecordRow,
  refreshTokenOf,
  type RefreshTokenRow,
  tokenUseOf,
  type TokenUseRow,
} from '../row.ts'
import { endPostgresGrant } from './grants.ts'

type TokenStore = Pick<
  GrantStore,
  | 'findAccessToken'
  | 'recordFirstUse'
  | 'removeAccessToken'
  | 'findRefreshToken'
  | 'findGrantByFamily'
  | 'rotateRefreshToken'
>

const selectAccess: Statement = {
  name: 'select_access_token',
  text: `WITH token AS MATERIALIZED (
      SELECT grant_id, scope, expires_at, first_used_at IS NULL AND sealed_tokens IS NOT NULL AS awaits_first_use
      FROM access_token WHERE hash = $1 AND expires_at - $2 > 0
    )
    SELECT ${grantColumns}, t.scope AS token_scope, t.expires_at AS token_expires_at, t.awaits_first_use, s.sealed AS session_sealed,
      s.issued_at AS session_issued_at, s.expires_at AS session_expires_at, s.version AS session_version
    FROM token t, grants g, provider_session s
    WHERE g.id = (SELECT grant_id FROM token) AND s.grant_id = (SELECT grant_id FROM token)
      AND g.expires_at - $2 > 0 AND g.ended_at IS NULL`,
}

// The row stays until it expires: it may hold what a replay of the previous refresh token returns.
const removeAccess: Statement = {
  name: 'remove_access_token',
  text: 'UPDATE access_token SET expires_at = 0 WHERE hash = $1',
}

const useAccess: Statement = {
  name: 'use_access_token',
  text: 'UPDATE access_token SET first_used_at = $2 WHERE hash = $1 AND first_used_at IS NULL',
}

const selectFamily: Statement = {
  name: 'select_family',
  text: `SELECT ${grantRecordColumns} FROM grants g WHERE g.family_hash = $1 AND g.family_hash IS NOT NULL`,
}

const selectRefresh: Statement = {
  name: 'select_refresh_token',
  text: `WITH token AS MATERIALIZED (SELECT grant_id, used_at FROM refresh_token WHERE hash = $1)
    SELECT ${grantColumns}, g.end_reason, (SELECT used_at FROM token) AS used_at FROM grants g
    WHERE g.id = (SELECT grant_id FROM token)`,
}

// One of many concurrent callers gets the row: the others wait for it, see that it is used, and have nothing to insert. The sealed
// pair is stored in the row of its access token, which is purged after an hour, together with the used refresh token if it is
// recognized without its row.
const rotate: Statement = {
  name: 'rotate_refresh_token',
  text: `WITH used AS (
      UPDATE refresh_token t SET used_at = $2, successor = $3
      WHERE t.hash = $1 AND t.used_at IS NULL
        AND (SELECT g.ended_at IS NULL AND g.expires_at - $2 > 0 FROM grants g WHERE g.id = t.grant_id)
      RETURNING t.grant_id, t.expires_at
    ), access AS (
      INSERT INTO access_token (hash, grant_id, scope, expires_at, kept_until, sealed_tokens, refresh_hash, address, replaces)
      SELECT $3, grant_id, $4, $5::bigint, greatest($5, $8), $6, $7::text, $9, $10 FROM used
    )
    INSERT INTO refresh_token (hash, grant_id, expires_at) SELECT $7::text, grant_id, expires_at FROM used RETURNING hash`,
}

const selectRotation: Statement = {
  name: 'select_rotation',
  text: `WITH token AS MATERIALIZED (
      SELECT grant_id, used_at, successor FROM refresh_token t
      WHERE t.hash = $1 AND (SELECT g.ended_at IS NULL AND g.expires_at - $2 > 0 FROM grants g WHERE g.id = t.grant_id)
    ), access AS MATERIALIZED (
      SELECT sealed_tokens, address, first_used_at, refresh_hash FROM access_token
      WHERE hash = (SELECT successor FROM token)
    )
    SELECT t.grant_id, t.used_at, (SELECT sealed_tokens FROM access) AS sealed_tokens,
      (SELECT address FROM access) AS address, (SELECT first_used_at FROM access) AS first_used_at,
      (SELECT used_at FROM refresh_token WHERE hash = (SELECT refresh_hash FROM access)) AS successor_used_at
    FROM token t`,
}

const recordReplay: Statement = {
  name: 'record_replay',
  text: `UPDATE grants SET replay_count = coalesce(replay_count, 0) + 1, replayed_at = $2,
      replay_first_address = coalesce($3, replay_first_address), replay_address = coalesce($4, replay_address)
    WHERE id = $1`,
}

/** Creates the access and refresh tokens of the Postgres store. */
export function createPostgresTokens(database: PostgresDatabase): TokenStore {
  /** Returns the result for a token that could not be rotated; undefined if it can be, although it could not a moment ago. */
  async function earlierRotation(
    refreshHash: string,
    terms: RotationTerms,
  ): Promise<RefreshRotation | undefined> {
    const [row] = await database.read<RotationRow>(selectRotation, [refreshHash, terms.now])
    if (!row) return { kind: 'ended' }
    if (row.used_at === null) return undefined
    const use = tokenUseOf(row, row.used_at)
    if (row.sealed_tokens !== null && isReplayable(use, terms)) {
      const [first, other] = differentAddresses(use, terms) ?? []
      await database.write(recordReplay, [row.grant_id, terms.now, first, other])
      const firstUse = { at: use.usedAt, address: use.address }
      return { kind: 'replayed', sealedTokens: row.sealed_tokens, firstUse }
    }
    const ended = await endPostgresGrant(database, row.grant_id, 'refresh_token_reuse', terms.now)
    return { kind: ended ? 'reused' : 'ended' }
  }

  return {
    async findAccessToken(accessHash, now) {
      const [row] = await database.read<AccessTokenRow>(selectAccess, [accessHash, now])
      return row && accessTokenOf(row)
    },
    async recordFirstUse(accessHash, now) {
      await database.write(useAccess, [accessHash, now])
    },
    async removeAccessToken(accessHash) {
      await database.write(removeAccess, [accessHash])
    },
    async findRefreshToken(refreshHash) {
      const [row] = await database.read<RefreshTokenRow>(selectRefresh, [refreshHash])
      return row && refreshTokenOf(row)
    },
    async findGrantByFamily(familyHash) {
      const [row] = await database.read<GrantRecordRow>(selectFamily, [familyHash])
      return row && grantRecordOf(row)
    },
    async rotateRefreshToken(refreshHash, successor, terms) {
      const values = rotationValues(refreshHash, successor, terms)
      for (let tries = 0; tries < 3; tries += 1) {
        if ((await database.write(rotate, values)).length === 1) return { kind: 'rotated' }
        const earlier = await earlierRotation(refreshHash, terms)
        if (earlier) return earlier
      }
      throw new Error('A refresh token is free each time after it could not be used.')
    },
  }
}

function rotationValues(
  presentedHash: string,
  successor: SuccessorTokens,
  terms: RotationTerms,
): (string | number | undefined)[] {
  const { accessHash, scope, accessExpiresAt, sealedTokens, refreshHash } = successor
  const { now, address, isOfFamily } = terms
  return [
    presentedHash,
    now,
    accessHash,
    scope,
    accessExpiresAt,
    sealedTokens,
    refreshHash,
    replayEnd(terms),
    address,
    isOfFamily ? presentedHash : undefined,
  ]
}

interface RotationRow extends TokenUseRow {
  grant_id: string
  used_at: number | null
  sealed_tokens: string | null
}
