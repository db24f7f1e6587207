import type { AttemptStore } from '../../core/limits/attempt-limit.ts'
import { sealingKeyOf } from '../../core/seal.ts'
import type { SocialSignInStore } from '../../core/sign-in/pending-sign-in.ts'
import type { PostgresDatabase, Statement } from './database.ts'

const insertSocial: Statement = {
  name: 'insert_social_sign_in',
  text: `INSERT INTO social_sign_in (id, binding, sealing_key, sealed, expires_at) VALUES ($1, $2, $3, $4, $5)`,
}

// A separate statement, so that it sees concurrent inserts: the last one to trim sees all. Counts the remaining rows without locks,
// which would also be taken on skipped rows: those locked by another trim must count as well.
const trimSocial: Statement = {
  name: 'trim_social_sign_ins',
  text: `DELETE FROM social_sign_in WHERE id = ANY (ARRAY(
      SELECT id FROM social_sign_in
      WHERE id = ANY (ARRAY(SELECT id FROM social_sign_in WHERE binding = $1 ORDER BY number DESC OFFSET $2))
      FOR UPDATE SKIP LOCKED))`,
}

const selectSocial: Statement = {
  name: 'select_social_sign_ins',
  text: `SELECT id, sealed, expires_at FROM social_sign_in WHERE binding = $1 AND expires_at - $2 > 0
    ORDER BY number DESC`,
}

const deleteSocial: Statement = {
  name: 'delete_social_sign_in',
  text: 'DELETE FROM social_sign_in WHERE id = $1 RETURNING true AS gone',
}

const countAttempt: Statement = {
  name: 'count_attempt',
  text: `INSERT INTO attempt AS a (key, count, window_ends_at) VALUES ($1, 1, $2::bigint + $3)
    ON CONFLICT (key) DO UPDATE SET
      count = CASE WHEN a.window_ends_at <= $2 THEN 1 ELSE a.count + 1 END,
      window_ends_at = CASE WHEN a.window_ends_at <= $2 THEN excluded.window_ends_at ELSE a.window_ends_at END
    RETURNING count, window_ends_at`,
}

const returnAttempt: Statement = {
  name: 'return_attempt',
  text: 'UPDATE attempt SET count = count - 1 WHERE key = $1 AND window_ends_at = $2 AND count > 0',
}

/** Creates the pending sign-ins of the Postgres store, and the counts of attempts. */
export function createPostgresSignIns(database: PostgresDatabase): SocialSignInStore & AttemptStore {
  return {
    async addSocialSignIn({ id, bindingHash, sealed, expiresAt }, max) {
      await database.write(insertSocial, [id, bindingHash, sealingKeyOf(sealed), sealed, expiresAt])
      await database.write(trimSocial, [bindingHash, max])
    },
    async listSocialSignIns(bindingHash, now) {
      const rows = await database.read<SocialRow>(selectSocial, [bindingHash, now])
      return rows.map(({ id, sealed, expires_at: expiresAt }) => ({ id, bindingHash, sealed, expiresAt }))
    },
    removeSocialSignIn: async (id) => (await database.write(deleteSocial, [id])).length === 1,

    async countAttempt(key, windowSeconds, now) {
      const [row] = await database.write<AttemptRow>(countAttempt, [key, now, windowSeconds])
      if (!row) throw new TypeError('The database returned no count for an attempt.')
      return { count: row.count, windowEndsAt: row.window_ends_at }
    },
    returnAttempt: async (key, windowEndsAt) =>
      void (await database.write(returnAttempt, [key, windowEndsAt])),
  }
}

interface SocialRow {
  id: string
  sealed: string
  expires_at: number
}

interface AttemptRow {
  count: number
  window_ends_at: number
}
