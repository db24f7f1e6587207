import { fail, findingsOf, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { storeName } from '../../config/store-address.ts'
import { openStore } from '../../startup/open-store.ts'
import { postgresMigrations } from '../../store/postgres/schema.ts'
import { sqliteMigrations } from '../../store/sqlite/schema.ts'
import { checkSealingKeys } from './key-ring-check.ts'
import { askPostgres, postgresChecks, unusableReason } from './postgres-check.ts'
import { readSqlite, sqliteChecks } from './sqlite-check.ts'

/** Findings about the store. `isRunning`: a server uses it; undefined if unknown. */
export interface StoreReport {
  findings: Finding[]
  isRunning: boolean | undefined
}

/** Checks that the store can be used, and, if `kids` are given, that a ring with these keys opens everything in it. */
export async function checkStore(
  { store }: Pick<ServerConfig, 'store'>,
  kids: readonly string[] | undefined,
): Promise<StoreReport> {
  const only = (outcome: Outcome): StoreReport => ({
    findings: [{ name: 'store', ...outcome }],
    isRunning: undefined,
  })
  try {
    switch (store.kind) {
      case 'memory':
        return only(
          warn(
            'Everything is kept in memory: all connections end with the server.',
            'Set DRAWBRIDGE_STORE=sqlite:PATH, or postgres://... for several servers.',
          ),
        )
      case 'sqlite': {
        const facts = readSqlite(store.path)
        const contents = await checkContents(store, facts.schema, sqliteMigrations.length, kids)
        return { findings: [...findingsOf(sqliteChecks, facts), ...contents], isRunning: facts.isRunning }
      }
      case 'postgres': {
        const facts = await askPostgres(store.url)
        const schema = unusableReason(facts) ? undefined : facts.schema
        const contents = await checkContents(store, schema, postgresMigrations.length, kids)
        return { findings: [...findingsOf(postgresChecks, facts), ...contents], isRunning: undefined }
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    return only(
      fail(
        `${storeName(store)} cannot be used: ${reason}.`,
        'Check DRAWBRIDGE_STORE, and that this machine and this account may use it; then run doctor again.',
      ),
    )
  }
}

/** Checks the schema, and the keys if it is the newest: any operation would update an older one, and doctor changes nothing. */
async function checkContents(
  address: ServerConfig['store'],
  schema: number | undefined,
  newest: number,
  kids: readonly string[] | undefined,
): Promise<Finding[]> {
  if (schema === undefined) return []
  const findings: Finding[] = [{ name: 'store-schema', ...checkSchema(schema, newest) }]
  if (schema !== newest || kids === undefined) return findings
  const store = openStore(address, { shared: true })
  try {
    return [...findings, { name: 'sealing-keys', ...(await checkSealingKeys(kids, store)) }]
  } finally {
    await store.close()
  }
}

function checkSchema(found: number, newest: number): Outcome {
  if (found > newest) {
    return fail(
      `The store has schema ${found}; this version knows up to ${newest}.`,
      'Start the newer Drawbridge that has written it, or use another store.',
    )
  }
  if (found === newest) return ok(`Schema ${found}, the newest.`)
  const next = 'the next start, or drawbridge-server migrate,'
  return ok(
    found === 0 ? `No schema yet: ${next} makes it.` : `Schema ${found}: ${next} brings it to ${newest}.`,
  )
}
