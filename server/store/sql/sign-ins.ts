import type { AttemptStore } from '../../core/limits/attempt-limit.ts'
import { sealingKeyOf } from '../../core/seal.ts'
import type { PendingSocialSignIn, SocialSignInStore } from '../../core/sign-in/pending-sign-in.ts'
import { camelCased, type SqlDatabase } from './sql.ts'

const insertSocial = `INSERT INTO social_sign_in (id, binding_hash, sealing_key, sealed, expires_at)
  VALUES ($1, $2, $3, $4, $5)`

// A separate statement, so that it sees concurrent inserts: the last one to trim sees all.
const trimSocial = `DELETE FROM social_sign_in WHERE binding_hash = $1 AND number <= (
    SELECT number FROM social_sign_in WHERE binding_hash = $1 ORDER BY number DESC LIMIT 1 OFFSET $2)`

const selectSocial = `SELECT ${camelCased('id, binding_hash, sealed, expires_at')} FROM social_sign_in
  WHERE binding_hash = $1 AND expires_at - $2 > 0 ORDER BY number DESC`

const deleteSocial = 'DELETE FROM social_sign_in WHERE id = $1 RETURNING true AS gone'

/** Adds a sign-in that waits for its second factor; its session is stored with the others. */
export const insertSecondFactor = `INSERT INTO second_factor (id, binding_hash, sealing_key, sealed, expires_at)
  VALUES ($1, $2, $3, $4, $5)`

const countAttempt = `INSERT INTO attempt AS a (key, count, window_ends_at) VALUES ($1, 1, $2::bigint + $3)
  ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN a.window_ends_at <= $2 THEN 1 ELSE a.count + 1 END,
    window_ends_at = CASE WHEN a.window_ends_at <= $2 THEN excluded.window_ends_at ELSE a.window_ends_at END
  RETURNING count, window_ends_at AS "windowEndsAt"`

const returnAttempt =
  'UPDATE attempt SET count = count - 1 WHERE key = $1 AND window_ends_at = $2 AND count > 0'

/** Writes one row, which has expired and so is deleted with the others. */
export async function writeProbe({ countAttempt }: AttemptStore): Promise<void> {
  await countAttempt('readiness', 1, 0)
}

/** Creates the pending social sign-ins in `database`, and the counts of attempts. */
export function createSignIns(database: SqlDatabase): SocialSignInStore & AttemptStore {
  return {
    async addSocialSignIn({ id, bindingHash, sealed, expiresAt }, max) {
      await database.write(insertSocial, [id, bindingHash, sealingKeyOf(sealed), sealed, expiresAt])
      await database.write(trimSocial, [bindingHash, max])
    },
    listSocialSignIns: (bindingHash, now) =>
      database.read<PendingSocialSignIn>(selectSocial, [bindingHash, now]),
    removeSocialSignIn: async (id) => (await database.write(deleteSocial, [id])).length === 1,

    async countAttempt(key, windowSeconds, now) {
      const values = [key, now, windowSeconds]
      const [counted] = await database.write<{ count: number; windowEndsAt: number }>(countAttempt, values)
      if (!counted) throw new TypeError('The database returned no count for an attempt.')
      return counted
    },
    returnAttempt: async (key, windowEndsAt) =>
      void (await database.write(returnAttempt, [key, windowEndsAt])),
  }
}
