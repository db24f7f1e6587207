import { sealingKeyOf } from '../../core/seal.ts'
import type { StoredProviderSession } from '../../core/session/grant.ts'
import type { SecondFactorStore } from '../../core/sign-in/pending-sign-in.ts'
import { insertSession, releaseSessions, sessionColumns, sessionValues } from '../sql/provider-sessions.ts'
import { insertSecondFactor } from '../sql/sign-ins.ts'
import type { SqlDatabase } from '../sql/sql.ts'

const insert = `WITH session AS (${insertSession(6)}) ${insertSecondFactor}`

const attempt = `WITH counted AS (
      UPDATE second_factor SET attempts = attempts + 1
      WHERE id = $1 AND binding_hash = $2 AND expires_at - $4 > 0 AND attempts < $3
      RETURNING id, sealed, expires_at
    )
    SELECT ${sessionColumns}, (SELECT sealed FROM counted) AS "pendingSealed",
      (SELECT expires_at FROM counted) AS "pendingUntil"
    FROM provider_session WHERE grant_id = (SELECT id FROM counted)`

const endAfterMost = `WITH over AS (
      DELETE FROM second_factor WHERE id = $1 AND binding_hash = $2 AND expires_at - $4 > 0 AND attempts >= $3 RETURNING id
    )
    ${releaseSessions('= (SELECT id FROM over)', '$4')}`

const giveUp = `WITH gone AS (DELETE FROM second_factor WHERE id = $1 RETURNING id), due AS (
      ${releaseSessions('= (SELECT id FROM gone)', '$2')}
    )
    SELECT id FROM gone`

const takeUp = `WITH gone AS (DELETE FROM second_factor WHERE id = $1 RETURNING id), session AS (
      DELETE FROM provider_session WHERE grant_id = (SELECT id FROM gone)
    )
    SELECT id FROM gone`

/** Creates the sign-ins of the Postgres store waiting for their second factor. */
export function createPostgresSecondFactors(database: SqlDatabase): SecondFactorStore {
  return {
    async addSecondFactor({ id, bindingHash, sealed, session, expiresAt }) {
      const pending = [id, bindingHash, sealingKeyOf(sealed), sealed, expiresAt]
      await database.write(insert, [...pending, ...sessionValues(session)])
    },
    async attemptSecondFactor({ id, bindingHash, max }, now) {
      const values = [id, bindingHash, max, now]
      const [row] = await database.write<PendingRow>(attempt, values)
      if (!row) {
        await database.write(endAfterMost, values)
        return undefined
      }
      const { pendingSealed: sealed, pendingUntil: expiresAt, ...session } = row
      return { id, bindingHash, sealed, session, expiresAt }
    },
    async removeSecondFactor(id, signOut, now) {
      const gone = signOut ? await database.write(giveUp, [id, now]) : await database.write(takeUp, [id])
      return gone.length === 1
    },
  }
}

type PendingRow = StoredProviderSession & { pendingSealed: string; pendingUntil: number }
