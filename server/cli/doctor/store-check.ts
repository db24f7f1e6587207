import { storeName } from '../../config/store-address.ts'
import { openStore } from '../../startup/open-store.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { postgresMigrations } from '../../store/postgres/schema.ts'
import { fail, findingsOf, warn } from '@drawbridge/shared/terminal/check.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { sqliteMigrations } from '../../store/sqlite/migrations.ts'
import { checkSealingKeys } from './key-ring-check.ts'
import { askPostgres, postgresChecks } from './postgres-check.ts'
import { readSqlite, sqliteChecks } from './sqlite-check.ts'

/** Findings about the store. `isRunning`: a server uses it; undefined if unknown. */
export interface StoreReport {
  findings: Finding[]
  isRunning: boolean | undefined
}

/**
 * Checks that the store can be used, and that a ring with the keys `kids` opens everything in it. Without `kids`, does not check
 * keys.
 */
export async function checkStore(
  { store }: Pick<ServerConfig, 'store'>,
  kids: readonly string[] | undefined,
): Promise<StoreReport> {
  try {
    switch (store.kind) {
      case 'memory': {
        const outcome = warn(
          'Everything is kept in memory: all connections end with the server.',
          'Set DRAWBRIDGE_STORE=sqlite:PATH, or postgres://... for several servers.',
        )
        return { findings: [{ name: 'store', ...outcome }], isRunning: undefined }
      }
      case 'sqlite': {
        const facts = readSqlite(store.path)
        const sealing = facts.schema === sqliteMigrations.length ? await checkKeysOf(store, kids) : []
        return { findings: [...findingsOf(sqliteChecks, facts), ...sealing], isRunning: facts.isRunning }
      }
      case 'postgres': {
        const facts = await askPostgres(store.url)
        // Any operation would bring an older schema up to date, and doctor changes nothing.
        const sealing = facts.schema === postgresMigrations.length ? await checkKeysOf(store, kids) : []
        return { findings: [...findingsOf(postgresChecks, facts), ...sealing], isRunning: undefined }
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    const outcome = fail(
      `${storeName(store)} cannot be used: ${reason}.`,
      'Check DRAWBRIDGE_STORE, and that this machine and this account may use it; then run doctor again.',
    )
    return { findings: [{ name: 'store', ...outcome }], isRunning: undefined }
  }
}

async function checkKeysOf(
  address: ServerConfig['store'],
  kids: readonly string[] | undefined,
): Promise<Finding[]> {
  if (kids === undefined) return []
  const store = openStore(address, { shared: true })
  try {
    return [{ name: 'sealing-keys', ...(await checkSealingKeys(kids, store)) }]
  } finally {
    await store.close()
  }
}
