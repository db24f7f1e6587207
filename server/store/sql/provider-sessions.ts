import { sealingKeyOf } from '../../core/seal.ts'
import type { GrantStore, StoredProviderSession } from '../../core/session/grant.ts'
import type { SealedSessionStore } from '../../core/session/reseal.ts'
import type { PendingSignOut, SignOutStore } from '../../core/session/sign-out-worker.ts'
import { camelCased, type SqlDatabase, type Values } from './sql.ts'

/** Operations on the provider's tokens, each a compare-and-swap in one statement, and on the outbox, except for claiming from it. */
export type ProviderSessionStore = Omit<SignOutStore, 'claimSignOuts'> &
  SealedSessionStore &
  Pick<
    GrantStore,
    | 'findProviderSession'
    | 'leaseProviderSession'
    | 'releaseProviderSession'
    | 'saveProviderSession'
    | 'recordProviderRenewal'
    | 'findProviderRenewal'
  >

/** Columns of a {@link StoredProviderSession}, under its names. */
export const sessionColumns: string = camelCased('grant_id, sealed, issued_at, expires_at, version')

// A session is stored with its code or second factor, and taken up when the code becomes a grant.
const live = 'taken_up AND sign_out_due_at IS NULL'

/** Selects the session of a grant that has not ended. */
const selectSession = `SELECT ${sessionColumns} FROM provider_session WHERE grant_id = $1 AND ${live}`

/** Selects the session with this id, of a grant, a code or a pending sign-in. */
export const selectAnySession: string = `SELECT ${sessionColumns} FROM provider_session WHERE grant_id = $1`

/** Adds a session: the values from `$first` on come from {@link sessionValues}. */
export function insertSession(first = 1): string {
  const values = Array.from({ length: 6 }, (_, index) => `$${first + index}`).join(', ')
  return `INSERT INTO provider_session (grant_id, sealing_key, sealed, issued_at, expires_at, version) VALUES (${values})`
}

/** Makes the sessions `of` selects due for sign-out at `now`, unless they are already. Both are SQL. */
export function releaseSessions(of: string, now: string): string {
  return `UPDATE provider_session SET sign_out_due_at = ${now}, sign_out_since = ${now}
    WHERE grant_id ${of} AND sign_out_due_at IS NULL`
}

const leaseSession = `UPDATE provider_session SET lease_owner = $3, lease_until = $4, open_leases = open_leases + 1
  WHERE grant_id = $1 AND version = $2 AND ${live} AND (lease_until <= $5 OR lease_owner = $3)
  RETURNING open_leases AS attempt`

const returnLease = `UPDATE provider_session SET lease_owner = NULL, lease_until = 0, open_leases = open_leases - $3,
    refused_since = CASE WHEN refused_since >= issued_at THEN refused_since ELSE $4::bigint END
  WHERE grant_id = $1 AND lease_owner = $2 RETURNING refused_since AS "refusedSince"`

// A grant that ends makes its session due in the same transaction, so the session alone decides.
const saveSession = `UPDATE provider_session SET sealing_key = $3, sealed = $4, issued_at = $5, expires_at = $6,
    version = $2, lease_owner = NULL, lease_until = 0, open_leases = 0
  WHERE grant_id = $1 AND version = $2::bigint - 1 AND (taken_up OR sign_out_due_at IS NOT NULL)
  RETURNING sign_out_due_at IS NULL AS live`

const recordRenewal = `INSERT INTO provider_renewal (issuer, renewed_at) VALUES ($1, $2)
  ON CONFLICT (issuer) DO UPDATE SET renewed_at = excluded.renewed_at
    WHERE provider_renewal.renewed_at < excluded.renewed_at`

const selectRenewal = 'SELECT renewed_at AS "renewedAt" FROM provider_renewal WHERE issuer = $1'

// Jumps from key to key by one index lookup each: a DISTINCT would read the whole index.
const keysOf = (table: string): string => `SELECT "sealingKey" FROM (
    WITH RECURSIVE found ("sealingKey") AS (
      SELECT min(sealing_key) FROM ${table}
      UNION ALL
      SELECT (SELECT min(t.sealing_key) FROM ${table} t WHERE t.sealing_key > f."sealingKey")
      FROM found f WHERE f."sealingKey" IS NOT NULL)
    SELECT "sealingKey" FROM found WHERE "sealingKey" IS NOT NULL) AS keys`

const selectKeys = ['provider_session', 'second_factor', 'social_sign_in'].map(keysOf).join(' UNION ALL ')

const selectSealedWith = `SELECT ${sessionColumns} FROM provider_session
  WHERE sealing_key = $1 AND grant_id > $2 AND (taken_up OR sign_out_due_at IS NOT NULL) ORDER BY grant_id LIMIT $3`

const postponeSignOut =
  'UPDATE provider_session SET sign_out_due_at = $2 WHERE grant_id = $1 AND sign_out_since IS NOT NULL'

const removeSignOut = 'DELETE FROM provider_session WHERE grant_id = $1 AND sign_out_since IS NOT NULL'

/** Returns the values of {@link insertSession} for `session`. */
export function sessionValues({
  grantId,
  sealed,
  issuedAt,
  expiresAt,
  version,
}: StoredProviderSession): Values {
  return [grantId, sealingKeyOf(sealed), sealed, issuedAt, expiresAt, version]
}

/** Creates the provider sessions in `database`. The outbox is those with a time at which their sign-out is due. */
export function createProviderSessions(database: SqlDatabase): ProviderSessionStore {
  return {
    async findProviderSession(grantId) {
      const [session] = await database.read<StoredProviderSession>(selectSession, [grantId])
      return session
    },
    async leaseProviderSession({ grantId, version, owner, until }, now) {
      const values = [grantId, version, owner, until, now]
      const [row] = await database.write<{ attempt: number }>(leaseSession, values)
      return row ? { kind: 'leased', attempt: row.attempt } : { kind: 'held' }
    },
    async releaseProviderSession({ grantId, owner, outcomeKnown, refusedAt }) {
      const values = [grantId, owner, outcomeKnown ? 1 : 0, refusedAt]
      const [row] = await database.write<{ refusedSince: number | null }>(returnLease, values)
      return row?.refusedSince ?? undefined
    },
    async saveProviderSession({ grantId, version, sealed, issuedAt, expiresAt }) {
      const values = [grantId, version, sealingKeyOf(sealed), sealed, issuedAt, expiresAt]
      const [row] = await database.write<{ live: boolean | number }>(saveSession, values)
      return Boolean(row?.live)
    },
    recordProviderRenewal: async (issuer, renewedAt) =>
      void (await database.write(recordRenewal, [issuer, renewedAt])),
    async findProviderRenewal(issuer) {
      const [row] = await database.read<{ renewedAt: number }>(selectRenewal, [issuer])
      return row?.renewedAt
    },
    async listSealingKeys() {
      const rows = await database.read<{ sealingKey: string }>(selectKeys)
      return [...new Set(rows.map(({ sealingKey }) => sealingKey))].toSorted()
    },
    listSessionsSealedWith: (kid, { after, limit }) =>
      database.read<StoredProviderSession>(selectSealedWith, [kid, after, limit]),
    postponeSignOut: async (grantId, dueAt) => void (await database.write(postponeSignOut, [grantId, dueAt])),
    removeSignOut: async (grantId) => void (await database.write(removeSignOut, [grantId])),
  }
}

export type SignOutRow = StoredProviderSession & Omit<PendingSignOut, 'session'>

/** Reads the claimed session in a row. */
export function signOutOf({ attempts, since, ...session }: SignOutRow): PendingSignOut {
  return { session, attempts, since }
}
