import type { DatabaseSync } from 'node:sqlite'
import type { GrantStore, StoredProviderSession } from '../../core/session/grant.ts'
import type { SignOutStore } from '../../core/session/sign-out-worker.ts'
import { type ProviderSessionRow, providerSessionOf } from '../row.ts'
import type { SqliteWork } from './work.ts'

/** Provider sessions of grants. Only a grant that has not ended has one. */
export interface SqliteProviderSessions {
  operations: Pick<
    GrantStore,
    | 'findProviderSession'
    | 'leaseProviderSession'
    | 'releaseProviderSession'
    | 'saveProviderSession'
    | 'recordProviderRenewal'
    | 'findProviderRenewal'
  >
  /** Stores the first session of the grant with this number. Runs inside a write, like the following. */
  add(grantNumber: number | bigint, session: StoredProviderSession): void
  /** Removes the session from its grant and makes it due for sign-out; does nothing without one. */
  giveUp(grantNumber: number, now: number): void
  /** Deletes exactly this session, without sign-out. Returns the number of its grant; undefined if it is not the stored one. */
  delete(session: { grantId: string; version: number }): number | undefined
}

const ofGrant = 'grant_number = (SELECT number FROM grants WHERE id = ?)'

/** Creates the provider sessions in `database`. */
export function createSqliteProviderSessions(
  database: DatabaseSync,
  { read, write }: SqliteWork,
  signOuts: SqliteSignOuts,
): SqliteProviderSessions {
  const insert = database.prepare(
    `INSERT INTO provider_session (grant_number, grant_id, sealed, issued_at, expires_at, version)
     VALUES (?, ?, ?, ?, ?, ?)`,
  )
  const select = database.prepare(
    `SELECT grant_id, sealed, issued_at, expires_at, version FROM provider_session WHERE ${ofGrant}`,
  )
  const lease = database.prepare(
    `UPDATE provider_session SET lease_owner = ?, lease_until = ?, lease_attempts = lease_attempts + 1
     WHERE ${ofGrant} AND version = ? AND (lease_until <= ? OR lease_owner = ?)
     RETURNING lease_attempts`,
  )
  const release = database.prepare(
    `UPDATE provider_session SET lease_owner = NULL, lease_until = 0, lease_attempts = lease_attempts - ?,
       refused_since = iif(refused_since >= issued_at, refused_since, ?)
     WHERE ${ofGrant} AND lease_owner = ? RETURNING refused_since`,
  )
  const save = database.prepare(
    `UPDATE provider_session SET sealed = ?, issued_at = ?, expires_at = ?, version = ?,
       lease_owner = NULL, lease_until = 0, lease_attempts = 0
     WHERE ${ofGrant} AND version = ?`,
  )
  const recordRenewal = database.prepare(
    `INSERT INTO provider_renewal (issuer, renewed_at) VALUES (?, ?)
     ON CONFLICT (issuer) DO UPDATE SET renewed_at = max(renewed_at, excluded.renewed_at)`,
  )
  const selectRenewal = database.prepare('SELECT renewed_at FROM provider_renewal WHERE issuer = ?')
  const take = database.prepare('DELETE FROM provider_session WHERE grant_number = ? RETURNING *')
  const refuse = database.prepare(
    `DELETE FROM provider_session WHERE ${ofGrant} AND version = ? RETURNING grant_number`,
  )

  return {
    operations: {
      findProviderSession: (grantId) =>
        read(() => {
          const row = select.get(grantId)
          return row && providerSessionOf(row as unknown as ProviderSessionRow)
        }),
      leaseProviderSession: ({ grantId, version, owner, until }, now) =>
        write(() => {
          const row = lease.get(owner, until, grantId, version, now, owner)
          return row ? { kind: 'leased', attempt: row['lease_attempts'] as number } : { kind: 'held' }
        }),
      releaseProviderSession: ({ grantId, owner, outcomeKnown, refusedAt }) =>
        write(() => {
          const row = release.get(outcomeKnown ? 1 : 0, refusedAt ?? null, grantId, owner)
          return (row?.['refused_since'] as number | null | undefined) ?? undefined
        }),
      saveProviderSession: (session) =>
        write(() => {
          const { grantId, sealed, issuedAt, expiresAt, version } = session
          const saved = save.run(sealed, issuedAt, expiresAt, version, grantId, version - 1).changes === 1
          if (!saved) signOuts.replace(session)
          return saved
        }),
      recordProviderRenewal: (issuer, renewedAt) => write(() => void recordRenewal.run(issuer, renewedAt)),
      findProviderRenewal: (issuer) =>
        read(() => selectRenewal.get(issuer)?.['renewed_at'] as number | undefined),
    },
    add: (grantNumber, { grantId, sealed, issuedAt, expiresAt, version }) =>
      void insert.run(grantNumber, grantId, sealed, issuedAt, expiresAt, version),
    giveUp(grantNumber, now) {
      const row = take.get(grantNumber)
      if (row) signOuts.giveUp(providerSessionOf(row as unknown as ProviderSessionRow), now)
    },
    delete: ({ grantId, version }) => refuse.get(grantId, version)?.['grant_number'] as number | undefined,
  }
}

/** The outbox of the SQLite store. Other parts add to it inside their own writes. */
export interface SqliteSignOuts {
  operations: SignOutStore
  /** Makes `session` due for sign-out at once. */
  giveUp(session: StoredProviderSession, now: number): void
  /** Replaces the waiting session with `session`, if that is the next version. */
  replace(session: StoredProviderSession): void
}

/** Creates the outbox in `database`. */
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
