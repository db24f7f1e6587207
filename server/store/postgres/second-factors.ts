import { sealingKeyOf } from '../../core/seal.ts'
import type { PendingSecondFactor, SecondFactorStore } from '../../core/sign-in/pending-sign-in.ts'
import type { PostgresDatabase, Statement } from './database.ts'
import { type ProviderSessionRow, providerSessionOf } from '../row.ts'

const insert: Statement = {
  name: 'insert_second_factor',
  text: `WITH session AS (
      INSERT INTO provider_session (grant_id, sealing_key, sealed, issued_at, expires_at, version)
      VALUES ($1, $6, $7, $8, $9, $10)
    )
    INSERT INTO second_factor (id, binding, sealing_key, sealed, expires_at) VALUES ($1, $2, $3, $4, $5)`,
}

const attempt: Statement = {
  name: 'attempt_second_factor',
  text: `WITH counted AS (
      UPDATE second_factor SET attempts = attempts + 1
      WHERE id = $1 AND binding = $2 AND expires_at - $4 > 0 AND attempts < $3
      RETURNING id, sealed, expires_at
    )
    SELECT c.sealed AS request_sealed, c.expires_at AS pending_until,
      s.grant_id, s.sealed, s.issued_at, s.expires_at, s.version
    FROM counted c, provider_session s WHERE s.grant_id = (SELECT id FROM counted)`,
}

const endAfterMost: Statement = {
  name: 'end_second_factor_after_most',
  text: `WITH over AS (
      DELETE FROM second_factor WHERE id = $1 AND binding = $2 AND expires_at - $4 > 0 AND attempts >= $3 RETURNING id
    )
    UPDATE provider_session SET sign_out_due_at = $4, sign_out_since = $4 WHERE grant_id = (SELECT id FROM over)`,
}

const giveUp: Statement = {
  name: 'give_up_second_factor',
  text: `WITH gone AS (DELETE FROM second_factor WHERE id = $1 RETURNING id), due AS (
      UPDATE provider_session SET sign_out_due_at = $2, sign_out_since = $2 WHERE grant_id = (SELECT id FROM gone)
    )
    SELECT id FROM gone`,
}

const takeUp: Statement = {
  name: 'take_up_second_factor',
  text: `WITH gone AS (DELETE FROM second_factor WHERE id = $1 RETURNING id), session AS (
      DELETE FROM provider_session WHERE grant_id = (SELECT id FROM gone)
    )
    SELECT id FROM gone`,
}

/** Creates the sign-ins of the Postgres store waiting for their second factor. Their sessions are stored with the others. */
export function createPostgresSecondFactors(database: PostgresDatabase): SecondFactorStore {
  return {
    async addSecondFactor({ id, bindingHash, sealed, session, expiresAt }) {
      await database.write(insert, [
        id,
        bindingHash,
        sealingKeyOf(sealed),
        sealed,
        expiresAt,
        sealingKeyOf(session.sealed),
        session.sealed,
        session.issuedAt,
        session.expiresAt,
        session.version,
      ])
    },
    async attemptSecondFactor({ id, bindingHash, most }, now) {
      const values = [id, bindingHash, most, now]
      const [row] = await database.write<PendingRow>(attempt, values)
      if (row) return pendingOf(row, bindingHash)
      await database.write(endAfterMost, values)
      return undefined
    },
    async removeSecondFactor(id, signOut, now) {
      const gone = signOut ? await database.write(giveUp, [id, now]) : await database.write(takeUp, [id])
      return gone.length === 1
    },
  }
}

interface PendingRow extends ProviderSessionRow {
  request_sealed: string
  pending_until: number
}

function pendingOf(row: PendingRow, bindingHash: string): PendingSecondFactor {
  return {
    id: row.grant_id,
    bindingHash,
    sealed: row.request_sealed,
    session: providerSessionOf(row),
    expiresAt: row.pending_until,
  }
}
