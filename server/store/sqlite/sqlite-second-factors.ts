import { sealingKeyOf } from '../../core/seal.ts'
import type { StoredProviderSession } from '../../core/session/grant.ts'
import type { SecondFactorStore } from '../../core/sign-in/pending-sign-in.ts'
import { insertSession, selectAnySession, sessionValues } from '../sql/provider-sessions.ts'
import { insertSecondFactor } from '../sql/sign-ins.ts'
import type { SqliteDatabase } from './sqlite-database.ts'
import { releaseSession } from './ending.ts'

const addSession = insertSession()

const attempt = `UPDATE second_factor SET attempts = attempts + 1
  WHERE id = $1 AND binding_hash = $2 AND expires_at - $3 > 0 AND attempts < $4
  RETURNING sealed, expires_at AS "expiresAt"`

const endAfterMost = `DELETE FROM second_factor
  WHERE id = $1 AND binding_hash = $2 AND expires_at - $3 > 0 AND attempts >= $4 RETURNING true AS gone`

const remove = 'DELETE FROM second_factor WHERE id = $1 RETURNING true AS gone'

const removeSession = 'DELETE FROM provider_session WHERE grant_id = $1'

/** Creates the sign-ins of the SQLite store waiting for their second factor. */
export function createSqliteSecondFactors(database: SqliteDatabase): SecondFactorStore {
  return {
    addSecondFactor: ({ id, bindingHash, sealed, session, expiresAt }) =>
      database.transaction(() => {
        database.run(addSession, sessionValues(session))
        database.run(insertSecondFactor, [id, bindingHash, sealingKeyOf(sealed), sealed, expiresAt])
      }),
    attemptSecondFactor: ({ id, bindingHash, max }, now) =>
      database.transaction(() => {
        const values = [id, bindingHash, now, max]
        const pending = database.all<{ sealed: string; expiresAt: number }>(attempt, values)[0]
        const session = pending && database.all<StoredProviderSession>(selectAnySession, [id])[0]
        if (session) return { id, bindingHash, ...pending, session }
        if (database.all<unknown>(endAfterMost, values)[0]) database.run(releaseSession, [id, now])
        return undefined
      }),
    removeSecondFactor: (id, signOut, now) =>
      database.transaction(() => {
        if (!database.all<unknown>(remove, [id])[0]) return false
        if (signOut) database.run(releaseSession, [id, now])
        else database.run(removeSession, [id])
        return true
      }),
  }
}
