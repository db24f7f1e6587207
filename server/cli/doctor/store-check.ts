import { storeName } from '../../config/store-address.ts'
import { openStore } from '../../startup/open-store.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { postgresMigrations } from '../../store/postgres/schema.ts'
import { fail, type Finding, warn } from '@drawbridge/shared/terminal/finding.ts'
import { checkSealingKeys } from './key-ring-check.ts'
import { askPostgres, checkPostgres } from './postgres-check.ts'
import { checkSqlite } from './sqlite-check.ts'

/** What is known about the store. `isRunning` is undefined where nobody can know whether a server uses it. */
export interface StoreReport {
  findings: Finding[]
  isRunning: boolean | undefined
}

/**
 * Whether the store can be used, and whether the ring, whose keys are `kids`, opens what is in it. Without a ring to
 * compare with, nothing is said about keys.
 */
export async function checkStore(
  { store }: Pick<ServerConfig, 'store'>,
  kids: readonly string[] | undefined,
): Promise<StoreReport> {
  switch (store.kind) {
    case 'memory':
      return {
        findings: [
          warn(
            'store',
            'Everything is kept in memory: all connections end with the server.',
            'Set DRAWBRIDGE_STORE=sqlite:PATH, or postgres://... for several servers.',
          ),
        ],
        isRunning: undefined,
      }
    case 'sqlite': {
      const { findings, isRunning, isReadable } = checkSqlite(store.path)
      const sealing = isReadable && kids ? [await checkKeysOf(store, kids)] : []
      return { findings: [...findings, ...sealing], isRunning }
    }
    case 'postgres':
      return { findings: await examinePostgres(store, kids), isRunning: undefined }
  }
}

async function examinePostgres(
  store: ServerConfig['store'] & { kind: 'postgres' },
  kids: readonly string[] | undefined,
): Promise<Finding[]> {
  try {
    const facts = await askPostgres(store.url)
    const findings = checkPostgres(facts, store.url)
    // Any operation would bring an older schema up to date, and doctor changes nothing.
    const isReadable = facts.schema === postgresMigrations.length
    return isReadable && kids ? [...findings, await checkKeysOf(store, kids)] : findings
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    return [
      fail(
        'store',
        `${storeName(store)} cannot be used: ${reason}.`,
        'Check the address in DRAWBRIDGE_STORE, and that this machine and this account may connect.',
      ),
    ]
  }
}

async function checkKeysOf(address: ServerConfig['store'], kids: readonly string[]): Promise<Finding> {
  const store = openStore(address, { shared: true })
  try {
    return await checkSealingKeys(kids, store)
  } finally {
    await store.close()
  }
}
