import type {
  FirstTokens,
  GrantStore,
  RefreshRotation,
  RotationTerms,
  SuccessorTokens,
} from '../../core/session/grant.ts'
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
import { isReplayable, replayEnd } from '../rules.ts'
import { withoutNulls } from '../sql/sql.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { endGrant } from './ending.ts'

const insertAccess = `INSERT INTO access_token (hash, grant_number, scope, expires_at, kept_until)
  VALUES ($1, $2, $3, $4, $4)`

const insertRotated = `INSERT INTO access_token
    (hash, grant_number, scope, expires_at, replaces, kept_until, address, sealed_tokens)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

const insertRefresh = `INSERT INTO refresh_token (number, successor, hash, grant_number, issued_at, access_number)
  SELECT next, next, $1, $2, $3, $4 FROM (SELECT coalesce(max(number), 0) + 1 AS next FROM refresh_token)`

const selectAccess = `SELECT ${accessTokenColumns}
  FROM (SELECT grant_number, scope, expires_at, ${awaitsFirstUse} FROM access_token WHERE hash = $1) t
    JOIN grants g ON g.number = t.grant_number JOIN provider_session s ON s.grant_id = g.id
  WHERE t.expires_at > $2 AND g.ended_at IS NULL AND g.expires_at > $2`

// A refresh token, its grant, and the token that its use brought.
const withSuccessor = `FROM refresh_token t JOIN grants g ON g.number = t.grant_number
    LEFT JOIN refresh_token s ON s.number = t.successor AND t.successor <> t.number
  WHERE t.hash = $1`

const selectGrant = `SELECT ${grantColumns}, g.end_reason AS "endReason", s.issued_at AS "usedAt" ${withSuccessor}`

const selectRefresh = `SELECT t.number, t.grant_number AS "grantNumber", g.id AS "grantId", g.expires_at AS "expiresAt",
    g.ended_at AS "endedAt", s.issued_at AS "usedAt" ${withSuccessor}`

const selectRotation = `SELECT a.sealed_tokens AS "sealedTokens", a.address, a.first_used_at AS "accessUsedAt",
    next.issued_at AS "successorUsedAt"
  FROM refresh_token t JOIN refresh_token s ON s.number = t.successor
    JOIN access_token a ON a.number = s.access_number AND a.grant_number = s.grant_number
    LEFT JOIN refresh_token next ON next.number = s.successor AND s.successor <> s.number
  WHERE t.number = $1`

const countReplay = recordReplay('number = $1')

const useRefresh = 'UPDATE refresh_token SET successor = $2 WHERE number = $1'

// Each refresh token refers to its successor, so that all are found at the end of the grant.
const setFirst = 'UPDATE grants SET first_refresh_token = $2 WHERE number = $1'

/** Creates the tokens of the SQLite store. A refresh is the most frequent write: one lookup and three changes. */
export function createSqliteTokens(
  database: SqliteDatabase,
): Pick<GrantStore, 'findAccessToken' | 'findRefreshToken' | 'rotateRefreshToken'> {
  function rotate(row: RefreshRow, successor: SuccessorTokens, terms: RotationTerms): void {
    const { accessHash, scope, accessExpiresAt, refreshHash, sealedTokens } = successor
    const accessNumber = database.run(insertRotated, [
      accessHash,
      row.grantNumber,
      scope,
      accessExpiresAt,
      row.number,
      Math.max(accessExpiresAt, replayEnd(terms)),
      terms.address,
      sealedTokens,
    ])
    const number = database.run(insertRefresh, [refreshHash, row.grantNumber, terms.now, accessNumber])
    database.run(useRefresh, [row.number, number])
  }

  /** Returns the replay for a token used at `usedAt`; undefined if that is reuse. */
  function replay(row: RefreshRow, usedAt: number, terms: RotationTerms): RefreshRotation | undefined {
    const rotation = database.all<RotationRow>(selectRotation, [row.number])[0]
    if (!rotation) return undefined
    const { sealedTokens, ...successor } = withoutNulls(rotation)
    const use = { usedAt, ...successor }
    if (!isReplayable(use, terms)) return undefined
    database.run(countReplay, replayValues(row.grantNumber, use, terms))
    return { kind: 'replayed', sealedTokens, firstUse: { at: usedAt, address: use.address } }
  }

  return {
    async findAccessToken(accessHash, now) {
      const [row] = await database.read<AccessTokenRow>(selectAccess, [accessHash, now])
      return row && accessTokenOf(row)
    },
    async findRefreshToken(refreshHash) {
      const [row] = await database.read<RefreshTokenRow>(selectGrant, [refreshHash])
      return row && refreshTokenOf(row)
    },
    rotateRefreshToken: (refreshHash, successor, terms) =>
      database.transaction(() => {
        const row = database.all<RefreshRow>(selectRefresh, [refreshHash])[0]
        if (!row || row.endedAt !== null || row.expiresAt <= terms.now) return { kind: 'ended' }
        if (row.usedAt === null) {
          rotate(row, successor, terms)
          return { kind: 'rotated' }
        }
        const replayed = replay(row, row.usedAt, terms)
        if (replayed) return replayed
        endGrant(database, row.grantId, 'refresh_token_reuse', terms.now)
        return { kind: 'reused' }
      }),
  }
}

/** Stores the first tokens of the grant with this number, inside a write. */
export function addFirstTokens(
  database: SqliteDatabase,
  grantNumber: number,
  { accessHash, scope, accessExpiresAt, refreshHash }: FirstTokens,
  now: number,
): void {
  const accessNumber = database.run(insertAccess, [accessHash, grantNumber, scope, accessExpiresAt])
  if (refreshHash === undefined) return
  database.run(setFirst, [
    grantNumber,
    database.run(insertRefresh, [refreshHash, grantNumber, now, accessNumber]),
  ])
}

interface RefreshRow {
  number: number
  grantNumber: number
  grantId: string
  usedAt: number | null
  expiresAt: number
  endedAt: number | null
}

interface RotationRow extends TokenUseRow {
  sealedTokens: string
}
