import type { DatabaseSync } from 'node:sqlite'
import type { AttemptStore } from '../../core/access/attempt-limit.ts'
import { deleteExpired, type SqlitePart } from './part.ts'
import type { SqliteWork } from './work.ts'

/** Counted attempts in `database`. */
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
