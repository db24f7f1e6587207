import type { DatabaseSync } from 'node:sqlite'
import type { SealedSessionStore } from '../../core/session/reseal.ts'
import { kidOf } from './migrations.ts'
import { type ProviderSessionRow, providerSessionOf } from '../row.ts'
import type { SqliteWork } from './work.ts'

/** Every column sealed with the key ring. Each has an index on the name of its key. */
const sealedColumns: readonly (readonly [table: string, column: string])[] = [
  ['authorization_code', 'session_sealed'],
  ['provider_session', 'sealed'],
  ['second_factor', 'sealed'],
  ['second_factor', 'session_sealed'],
  ['sign_out', 'sealed'],
  ['social_sign_in', 'sealed'],
]

/** Queries sealing keys and what they sealed, by the indexes on key names: never reads all rows. */
export function createSqliteSealedSessions(database: DatabaseSync, { read }: SqliteWork): SealedSessionStore {
  const nextOf = sealedColumns.map(([table, column]) =>
    database.prepare(
      `SELECT ${kidOf(column)} AS kid FROM ${table}
       WHERE ${column} IS NOT NULL AND ${kidOf(column)} > ? ORDER BY ${kidOf(column)} LIMIT 1`,
    ),
  )
  const pageOf = ['provider_session', 'sign_out'].map((table) =>
    database.prepare(
      `SELECT grant_id, sealed, issued_at, expires_at, version FROM ${table}
       WHERE ${kidOf('sealed')} = ? AND grant_id > ? ORDER BY grant_id LIMIT ?`,
    ),
  )

  /** Returns the key after `kid`: skips everything sealed with the same one. */
  function keyAfter(kid: string): string | undefined {
    const next = nextOf.flatMap((statement) => {
      const row = statement.get(kid)
      return row ? [row['kid'] as string] : []
    })
    return next.length === 0 ? undefined : next.reduce((first, other) => (other < first ? other : first))
  }

  return {
    listSealingKeys: () =>
      read(() => {
        const kids: string[] = []
        for (let kid = keyAfter(''); kid !== undefined; kid = keyAfter(kid)) kids.push(kid)
        return kids
      }),
    listSessionsSealedWith: (kid, { after, limit }) =>
      read(() =>
        pageOf
          .flatMap((statement) => statement.all(kid, after, limit) as unknown as ProviderSessionRow[])
          .sort((one, other) => (one.grant_id < other.grant_id ? -1 : 1))
          .slice(0, limit)
          .map(providerSessionOf),
      ),
  }
}
