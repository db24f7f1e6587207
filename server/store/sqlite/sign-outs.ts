import type { DatabaseSync } from 'node:sqlite'
import type { StoredProviderSession } from '../../core/session/grant.ts'
import type { SignOutStore } from '../../core/session/sign-out-worker.ts'
import { type ProviderSessionRow, providerSessionOf } from '../row.ts'
import type { SqliteWork } from './work.ts'

/** The outbox of the SQLite store, and how other parts put something into it, inside their own writes. */
export interface SqliteSignOuts {
  operations: SignOutStore
  /** Makes `session` due for sign-out at once. */
  giveUp(session: StoredProviderSession, now: number): void
  /** Puts `session` in the place of the one that waits, if that is the version before it. */
  replace(session: StoredProviderSession): void
}

/** The outbox in `database`. */
export function createSqliteSignOuts(database: DatabaseSync, { write }: SqliteWork): SqliteSignOuts {
  const insert = database.prepare(
    `INSERT OR REPLACE INTO sign_out (grant_id, sealed, issued_at, expires_at, version, attempts, since, due_at)
     VALUES (?, ?, ?, ?, ?, 0, ?, ?)`,
  )
  const update = database.prepare(
    'UPDATE sign_out SET sealed = ?, issued_at = ?, expires_at = ?, version = ? WHERE grant_id = ? AND version = ?',
  )
  const selectDue = database.prepare('SELECT * FROM sign_out WHERE due_at <= ? ORDER BY due_at LIMIT ?')
  const claim = database.prepare('UPDATE sign_out SET attempts = ?, due_at = ? WHERE grant_id = ?')
  const postpone = database.prepare('UPDATE sign_out SET due_at = ? WHERE grant_id = ?')
  const remove = database.prepare('DELETE FROM sign_out WHERE grant_id = ?')

  return {
    operations: {
      claimSignOuts: ({ limit, until }, now) =>
        write(() => {
          const due = selectDue.all(now, limit) as unknown as SignOutRow[]
          return due.map((row) => {
            const attempts = row.attempts + 1
            claim.run(attempts, until, row.grant_id)
            return { session: providerSessionOf(row), attempts, since: row.since }
          })
        }),
      postponeSignOut: (grantId, dueAt) => write(() => void postpone.run(dueAt, grantId)),
      removeSignOut: (grantId) => write(() => void remove.run(grantId)),
    },
    giveUp: ({ grantId, sealed, issuedAt, expiresAt, version }, now) =>
      void insert.run(grantId, sealed, issuedAt, expiresAt, version, now, now),
    replace: ({ grantId, sealed, issuedAt, expiresAt, version }) =>
      void update.run(sealed, issuedAt, expiresAt, version, grantId, version - 1),
  }
}

interface SignOutRow extends ProviderSessionRow {
  attempts: number
  since: number
}
