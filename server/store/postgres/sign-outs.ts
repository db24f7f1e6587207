import type { SignOutStore } from '../../core/session/sign-out-worker.ts'
import type { PostgresDatabase, Statement } from './database.ts'
import { type ProviderSessionRow, providerSessionOf } from '../row.ts'

// What another worker is just claiming is skipped, not waited for.
const claim: Statement = {
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

const postpone: Statement = {
  name: 'postpone_sign_out',
  text: 'UPDATE provider_session SET sign_out_due_at = $2 WHERE grant_id = $1 AND sign_out_since IS NOT NULL',
}

const remove: Statement = {
  name: 'remove_sign_out',
  text: 'DELETE FROM provider_session WHERE grant_id = $1 AND sign_out_since IS NOT NULL',
}

/** The outbox of the Postgres store: the provider sessions that have a time at which their sign-out is due. */
export function createPostgresSignOuts(database: PostgresDatabase): SignOutStore {
  return {
    async claimSignOuts({ limit, until }, now) {
      const rows = await database.write<SignOutRow>(claim, [limit, now, until])
      return rows.map((row) => ({
        session: providerSessionOf(row),
        attempts: row.sign_out_attempts,
        since: row.sign_out_since,
      }))
    },
    async postponeSignOut(grantId, dueAt) {
      await database.write(postpone, [grantId, dueAt])
    },
    async removeSignOut(grantId) {
      await database.write(remove, [grantId])
    },
  }
}

interface SignOutRow extends ProviderSessionRow {
  sign_out_attempts: number
  sign_out_since: number
}
