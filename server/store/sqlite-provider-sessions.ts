import type { DatabaseSync } from 'node:sqlite'
import type { GrantStore, StoredProviderSession } from '../core/grant.ts'

/** The part of {@link GrantStore} about the provider's tokens: each operation is one compare-and-swap statement. */
export type ProviderSessionStore = Pick<
  GrantStore,
  'findProviderSession' | 'leaseProviderSession' | 'releaseProviderSession' | 'saveProviderSession'
>

/** Provider sessions of the SQLite store. */
export function createSqliteProviderSessions(database: DatabaseSync): ProviderSessionStore {
  const select = database.prepare(
    `SELECT s.* FROM provider_session s JOIN grants g ON g.id = s.grant_id
     WHERE s.grant_id = ? AND g.ended_at IS NULL`,
  )
  const lease = database.prepare(
    `UPDATE provider_session SET lease_owner = ?, lease_until = ?
     WHERE grant_id = ? AND version = ? AND (lease_until <= ? OR lease_owner = ?)
       AND EXISTS (SELECT 1 FROM grants WHERE id = provider_session.grant_id AND ended_at IS NULL)`,
  )
  const release = database.prepare(
    'UPDATE provider_session SET lease_owner = NULL, lease_until = 0 WHERE grant_id = ? AND lease_owner = ?',
  )
  const save = database.prepare(
    `UPDATE provider_session
     SET sealed = ?, issued_at = ?, expires_at = ?, version = ?, lease_owner = NULL, lease_until = 0
     WHERE grant_id = ? AND version = ?`,
  )
  return {
    async findProviderSession(grantId) {
      const row = select.get(grantId)
      return row && providerSessionOf(row as unknown as ProviderSessionRow)
    },
    leaseProviderSession: async ({ grantId, version, owner, until }, now) =>
      lease.run(owner, until, grantId, version, now, owner).changes === 1,
    releaseProviderSession: async ({ grantId, owner }) => void release.run(grantId, owner),
    saveProviderSession: async ({ grantId, sealed, issuedAt, expiresAt, version }) =>
      save.run(sealed, issuedAt, expiresAt, version, grantId, version - 1).changes === 1,
  }
}

interface ProviderSessionRow {
  grant_id: string
  sealed: string
  issued_at: number
  expires_at: number
  version: number
}

function providerSessionOf(row: ProviderSessionRow): StoredProviderSession {
  return {
    grantId: row.grant_id,
    sealed: row.sealed,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    version: row.version,
  }
}
