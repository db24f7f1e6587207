import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, it, vi } from 'vitest'
import { inspectDatabase, useDatabaseFiles } from '../../../tests/support/server/database-file.ts'
import { useEverything } from '../../../tests/support/store-contract/every-operation.ts'
import { openSqliteStore } from './sqlite.ts'

const newFile = useDatabaseFiles()
afterEach(() => void vi.restoreAllMocks())

// In index order, bounded by a limit. Trimming compares all unused registrations, once a minute and only when there are too many.
const boundedScans: ReadonlySet<string> = new Set([
  'SCAN client USING COVERING INDEX client_unused',
  'SCAN grants USING INDEX grants_ended',
  // The names of keys that a query has found so far.
  'SCAN f',
  'SCAN found',
])
const isTrim = (sql: string): boolean => /^DELETE FROM client .*\brow_number\(\)/s.test(sql)

it('no statement scans a table or sorts its results', async () => {
  const path = newFile()
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const store = openSqliteStore(path)
  await useEverything(store, 'first')
  await store.close()
  const statements = [...new Set(prepare.mock.calls.map(([sql]) => sql))].filter((sql) =>
    /^(?:SELECT|INSERT|UPDATE|DELETE)/.test(sql),
  )
  expect(statements.length).toBeGreaterThan(50)
  const slow = inspectDatabase(path, (database) =>
    statements.flatMap((sql) => {
      const steps = database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => String(detail))
      return steps
        .filter((step) => /^SCAN (?!CONSTANT|\(|next)|TEMP B-TREE/.test(step) && !boundedScans.has(step))
        .filter((step) => !isTrim(sql) || !/TEMP B-TREE/.test(step))
        .map((step) => `${step}: ${sql}`)
    }),
  )
  expect(slow).toEqual([])
})
