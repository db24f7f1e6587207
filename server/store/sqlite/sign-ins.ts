import type { DatabaseSync } from 'node:sqlite'
import type { AttemptStore } from '../../core/limits/attempt-limit.ts'
import type { PendingSocialSignIn, SocialSignInStore } from '../../core/sign-in/pending-sign-in.ts'
import { deleteExpired, type SqlitePart } from './part.ts'
import type { SqliteWork } from './work.ts'

/** Creates the pending social sign-ins in `database`. */
export function createSqliteSocialSignIns(
  database: DatabaseSync,
  { read, write }: SqliteWork,
): SqlitePart<SocialSignInStore> {
  const insert = database.prepare(
    'INSERT INTO social_sign_in (id, binding_hash, sealed, expires_at) VALUES (?, ?, ?, ?)',
  )
  const trim = database.prepare(
    `DELETE FROM social_sign_in WHERE binding_hash = ? AND rowid NOT IN
       (SELECT rowid FROM social_sign_in WHERE binding_hash = ? ORDER BY rowid DESC LIMIT ?)`,
  )
  const select = database.prepare(
    'SELECT * FROM social_sign_in WHERE binding_hash = ? AND expires_at > ? ORDER BY rowid DESC',
  )
  const remove = database.prepare('DELETE FROM social_sign_in WHERE id = ?')
  return {
    operations: {
      addSocialSignIn: ({ id, bindingHash, sealed, expiresAt }, max) =>
        write(() => {
          insert.run(id, bindingHash, sealed, expiresAt)
          trim.run(bindingHash, bindingHash, max)
        }),
      listSocialSignIns: (bindingHash, now) =>
        read(() =>
          select.all(bindingHash, now).map((row) => socialSignInOf(row as unknown as SocialSignInRow)),
        ),
      removeSocialSignIn: (id) => write(() => remove.run(id).changes === 1),
    },
    collect: deleteExpired(database, { table: 'social_sign_in', key: 'id', end: 'expires_at' }),
  }
}

interface SocialSignInRow {
  id: string
  binding_hash: string
  sealed: string
  expires_at: number
}

function socialSignInOf(row: SocialSignInRow): PendingSocialSignIn {
  return { id: row.id, bindingHash: row.binding_hash, sealed: row.sealed, expiresAt: row.expires_at }
}

/** Creates the attempt counts in `database`. */
export function createSqliteAttempts(
  database: DatabaseSync,
  { write }: SqliteWork,
): SqlitePart<AttemptStore> {
  const select = database.prepare('SELECT count, window_ends_at FROM attempt WHERE key = ?')
  const upsert = database.prepare(
    'INSERT OR REPLACE INTO attempt (key, count, window_ends_at) VALUES (?, ?, ?)',
  )
  const giveBack = database.prepare(
    'UPDATE attempt SET count = count - 1 WHERE key = ? AND window_ends_at = ? AND count > 0',
  )
  return {
    operations: {
      countAttempt: (key, windowSeconds, now) =>
        write(() => {
          const row = select.get(key) as { count: number; window_ends_at: number } | undefined
          const running = row && row.window_ends_at > now ? row : undefined
          const count = (running?.count ?? 0) + 1
          const windowEndsAt = running?.window_ends_at ?? now + windowSeconds
          upsert.run(key, count, windowEndsAt)
          return { count, windowEndsAt }
        }),
      returnAttempt: (key, windowEndsAt) => write(() => void giveBack.run(key, windowEndsAt)),
    },
    collect: deleteExpired(database, { table: 'attempt', key: 'key', end: 'window_ends_at' }),
  }
}
