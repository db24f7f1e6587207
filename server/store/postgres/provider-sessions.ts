import type { GrantStore, LeaseResult } from '../../core/session/grant.ts'
import { sealingKeyOf } from '../../core/seal.ts'
import type { SealedSessionStore } from '../../core/session/reseal.ts'
import type { SignOutStore } from '../../core/session/sign-out-worker.ts'
import { type ProviderSessionRow, providerSessionOf } from '../row.ts'
import type { PostgresDatabase, Statement } from './database.ts'

/** The operations of `GrantStore` on the provider's tokens: each is one compare-and-swap statement. */
export type ProviderSessionStore = Pick<
  GrantStore,
  | 'findProviderSession'
  | 'leaseProviderSession'
  | 'releaseProviderSession'
  | 'saveProviderSession'
  | 'recordProviderRenewal'
  | 'findProviderRenewal'
>

// A session is stored with its code or second factor, and adopted when the code becomes a grant.
const selectSession: Statement = {
  name: 'select_provider_session',
  text: `SELECT grant_id, sealed, issued_at, expires_at, version FROM provider_session
    WHERE grant_id = $1 AND taken_up AND sign_out_due_at IS NULL`,
}

const leaseSession: Statement = {
  name: 'lease_provider_session',
  text: `UPDATE provider_session SET lease_owner = $3, lease_until = $4, open_leases = open_leases + 1
    WHERE grant_id = $1 AND version = $2 AND taken_up AND sign_out_due_at IS NULL
      AND (lease_until <= $5 OR lease_owner = $3)
    RETURNING open_leases`,
}

const releaseSession: Statement = {
  name: 'release_provider_session',
  text: `UPDATE provider_session SET lease_owner = NULL, lease_until = 0,
      open_leases = CASE WHEN $3::boolean THEN open_leases - 1 ELSE open_leases END,
      refused_since = CASE WHEN refused_since >= issued_at THEN refused_since ELSE $4::bigint END
    WHERE grant_id = $1 AND lease_owner = $2 RETURNING refused_since`,
}

// A grant that ends makes its session due in the same transaction, so the session alone decides.
const saveSession: Statement = {
  name: 'save_provider_session',
  text: `UPDATE provider_session SET sealing_key = $3, sealed = $4, issued_at = $5, expires_at = $6, version = $2,
      lease_owner = NULL, lease_until = 0, open_leases = 0
    WHERE grant_id = $1 AND version = $2::bigint - 1 AND (taken_up OR sign_out_due_at IS NOT NULL)
    RETURNING sign_out_due_at IS NULL AS live`,
}

const recordRenewal: Statement = {
  name: 'record_provider_renewal',
  text: `INSERT INTO provider_renewal (issuer, renewed_at) VALUES ($1, $2)
    ON CONFLICT (issuer) DO UPDATE SET renewed_at = greatest(provider_renewal.renewed_at, excluded.renewed_at)`,
}

const selectRenewal: Statement = {
  name: 'select_provider_renewal',
  text: 'SELECT renewed_at FROM provider_renewal WHERE issuer = $1',
}

// Jumps from key to key by one index lookup each: a DISTINCT would read the whole index.
const keysOf = (table: string): string => `
  (WITH RECURSIVE found (sealing_key) AS (
     (SELECT sealing_key FROM ${table} ORDER BY sealing_key LIMIT 1)
     UNION ALL
     SELECT (SELECT t.sealing_key FROM ${table} t WHERE t.sealing_key > f.sealing_key ORDER BY t.sealing_key LIMIT 1)
     FROM found f WHERE f.sealing_key IS NOT NULL)
   SELECT sealing_key FROM found WHERE sealing_key IS NOT NULL)`

const selectKeys: Statement = {
  name: 'select_sealing_keys',
  text: `SELECT sealing_key FROM (${['provider_session', 'second_factor', 'social_sign_in']
    .map(keysOf)
    .join(' UNION ')}) AS k ORDER BY sealing_key`,
}

const selectSealedWith: Statement = {
  name: 'select_sessions_sealed_with',
  text: `SELECT grant_id, sealed, issued_at, expires_at, version FROM provider_session
    WHERE sealing_key = $1 AND grant_id > $2 AND (taken_up OR sign_out_due_at IS NOT NULL) ORDER BY grant_id LIMIT $3`,
}

/** Creates the provider sessions of the Postgres store, and the queries for their sealing keys. */
export function createPostgresProviderSessions(
  database: PostgresDatabase,
): ProviderSessionStore & SealedSessionStore {
  return {
    async findProviderSession(grantId) {
      const [row] = await database.read<ProviderSessionRow>(selectSession, [grantId])
      return row && providerSessionOf(row)
    },
    async leaseProviderSession({ grantId, version, owner, until }, now): Promise<LeaseResult> {
      const values = [grantId, version, owner, until, now]
      const [row] = await database.write<{ open_leases: number }>(leaseSession, values)
      return row ? { kind: 'leased', attempt: row.open_leases } : { kind: 'held' }
    },
    async releaseProviderSession({ grantId, owner, outcomeKnown, refusedAt }) {
      const values = [grantId, owner, String(outcomeKnown), refusedAt]
      const [row] = await database.write<{ refused_since: number | null }>(releaseSession, values)
      return row?.refused_since ?? undefined
    },
    async saveProviderSession({ grantId, version, sealed, issuedAt, expiresAt }) {
      const values = [grantId, version, sealingKeyOf(sealed), sealed, issuedAt, expiresAt]
      const [row] = await database.write<{ live: boolean }>(saveSession, values)
      return row?.live === true
    },
    async recordProviderRenewal(issuer, renewedAt) {
      await database.write(recordRenewal, [issuer, renewedAt])
    },
    async findProviderRenewal(issuer) {
      const [row] = await database.read<{ renewed_at: number }>(selectRenewal, [issuer])
      return row?.renewed_at
    },
    async listSealingKeys() {
      const rows = await database.read<{ sealing_key: string }>(selectKeys)
      return rows.map((row) => row.sealing_key)
    },
    async listSessionsSealedWith(kid, { after, limit }) {
      const rows = await database.read<ProviderSessionRow>(selectSealedWith, [kid, after, limit])
      return rows.map(providerSessionOf)
    },
  }
}

// Skips rows that another worker is claiming instead of waiting.
const claimSignOuts: Statement = {
  name: 'claim_sign_outs',
  text: `WITH due AS MATERIALIZED (
      SELECT grant_id, sign_out_due_at FROM provider_session WHERE sign_out_due_at <= $2
      ORDER BY sign_out_due_at LIMIT $1 FOR UPDATE SKIP LOCKED
    ), claimed AS (
      UPDATE provider_session s SET sign_out_due_at = $3, sign_out_attempts = s.sign_out_attempts + 1
      FROM due d
      WHERE s.grant_id = d.grant_id AND s.grant_id = ANY (ARRAY(SELECT grant_id FROM due))
      RETURNING s.grant_id, s.sealed, s.issued_at, s.expires_at, s.version, s.sign_out_attempts, s.sign_out_since,
        d.sign_out_due_at AS was_due_at
    )
    SELECT grant_id, sealed, issued_at, expires_at, version, sign_out_attempts, sign_out_since
    FROM claimed ORDER BY was_due_at, grant_id`,
}

const postponeSignOut: Statement = {
  name: 'postpone_sign_out',
  text: 'UPDATE provider_session SET sign_out_due_at = $2 WHERE grant_id = $1 AND sign_out_since IS NOT NULL',
}

const removeSignOut: Statement = {
  name: 'remove_sign_out',
  text: 'DELETE FROM provider_session WHERE grant_id = $1 AND sign_out_since IS NOT NULL',
}

/** Creates the outbox of the Postgres store: the provider sessions with a time at which their sign-out is due. */
export function createPostgresSignOuts(database: PostgresDatabase): SignOutStore {
  return {
    async claimSignOuts({ limit, until }, now) {
      const rows = await database.write<SignOutRow>(claimSignOuts, [limit, now, until])
      return rows.map((row) => ({
        session: providerSessionOf(row),
        attempts: row.sign_out_attempts,
        since: row.sign_out_since,
      }))
    },
    async postponeSignOut(grantId, dueAt) {
      await database.write(postponeSignOut, [grantId, dueAt])
    },
    async removeSignOut(grantId) {
      await database.write(removeSignOut, [grantId])
    },
  }
}

interface SignOutRow extends ProviderSessionRow {
  sign_out_attempts: number
  sign_out_since: number
}
