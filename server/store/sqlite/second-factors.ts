import type { DatabaseSync } from 'node:sqlite'
import type { PendingSecondFactor, SecondFactorStore } from '../../core/sign-in/pending-sign-in.ts'
import { type JoinedSessionRow, joinedSessionOf } from '../row.ts'
import type { SqlitePart } from './part.ts'
import type { SqliteSignOuts } from './provider-sessions.ts'
import type { SqliteWork } from './work.ts'

/** Creates the sign-ins in `database` waiting for their second factor. */
export function createSqliteSecondFactors(
  database: DatabaseSync,
  { write }: SqliteWork,
  signOuts: SqliteSignOuts,
): SqlitePart<SecondFactorStore> {
  const insert = database.prepare(
    `INSERT INTO second_factor (id, binding_hash, sealed, session_sealed, session_issued_at, session_expires_at,
       session_version, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const select = database.prepare(
    'SELECT * FROM second_factor WHERE id = ? AND binding_hash = ? AND expires_at > ?',
  )
  const count = database.prepare('UPDATE second_factor SET attempts = attempts + 1 WHERE id = ?')
  const remove = database.prepare('DELETE FROM second_factor WHERE id = ? RETURNING *')
  const removeExpired = database.prepare(
    'DELETE FROM second_factor WHERE id IN (SELECT id FROM second_factor WHERE expires_at <= ? LIMIT ?) RETURNING *',
  )

  function giveUp(row: SecondFactorRow, now: number): void {
    signOuts.giveUp(pendingOf(row).session, now)
  }

  return {
    operations: {
      addSecondFactor: ({ id, bindingHash, sealed, session, expiresAt }) =>
        write(
          () =>
            void insert.run(
              id,
              bindingHash,
              sealed,
              session.sealed,
              session.issuedAt,
              session.expiresAt,
              session.version,
              expiresAt,
            ),
        ),
      attemptSecondFactor: ({ id, bindingHash, most }, now) =>
        write(() => {
          const row = select.get(id, bindingHash, now) as unknown as SecondFactorRow | undefined
          if (!row) return undefined
          if (row.attempts < most) {
            count.run(id)
            return pendingOf(row)
          }
          remove.get(id)
          giveUp(row, now)
          return undefined
        }),
      removeSecondFactor: (id, signOut, now) =>
        write(() => {
          const row = remove.get(id) as unknown as SecondFactorRow | undefined
          if (row && signOut) giveUp(row, now)
          return row !== undefined
        }),
    },
    collect(now, limit) {
      const rows = removeExpired.all(now, limit) as unknown as SecondFactorRow[]
      for (const row of rows) giveUp(row, now)
      return rows.length
    },
  }
}

interface SecondFactorRow extends JoinedSessionRow {
  id: string
  binding_hash: string
  sealed: string
  attempts: number
  expires_at: number
}

function pendingOf(row: SecondFactorRow): PendingSecondFactor {
  return {
    id: row.id,
    bindingHash: row.binding_hash,
    sealed: row.sealed,
    session: joinedSessionOf(row, row.id),
    expiresAt: row.expires_at,
  }
}
