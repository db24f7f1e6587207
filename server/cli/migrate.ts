import { existsSync } from 'node:fs'
import { storeName } from '../config/store-address.ts'
import { probePostgres, readSqliteSchema } from './doctor/store-check.ts'
import { openStore } from '../startup/open-store.ts'
import { OperatorRefusal } from '../core/operator/operation.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { postgresMigrations } from '../store/postgres/postgres-schema.ts'
import { sqliteMigrations } from '../store/sqlite/sqlite-schema.ts'
import { type CommandInput, type ExitCode, exitCode, readConfig } from './command.ts'
import { printFacts } from './terminal.ts'

/** Migrates the schema of the store, as a starting server does. Prints the previous version. */
export async function migrate(input: CommandInput): Promise<ExitCode> {
  const { store } = readConfig(input, ['store'])
  const name = storeName(store)
  const done = (from: number, to: number, text: string): ExitCode => {
    printFacts(input, { ok: true, store: name, from, to }, text)
    return exitCode.ok
  }
  if (store.kind === 'memory') return done(0, 0, 'A store in memory has nothing to migrate.')
  const to = (store.kind === 'sqlite' ? sqliteMigrations : postgresMigrations).length
  try {
    const from = await readSchema(store)
    if (from === to) return done(from, to, `${name} has schema ${to}, the newest. There is nothing to do.`)
    await prepare(store)
    const text =
      from === 0 ? `Made schema ${to} in ${name}.` : `Brought ${name} from schema ${from} to ${to}.`
    return done(from, to, text)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : 'unknown'
    throw new OperatorRefusal(409, `${name} was not migrated: ${message}`, 'More: drawbridge-server doctor')
  }
}

type KeptStore = Exclude<ServerConfig['store'], { kind: 'memory' }>

async function readSchema(store: KeptStore): Promise<number> {
  if (store.kind === 'postgres') return (await probePostgres(store.url)).schema
  return existsSync(store.path) ? readSqliteSchema(store.path) : 0
}

async function prepare(address: KeptStore): Promise<void> {
  const store = openStore(address)
  try {
    await store.prepare()
  } finally {
    await store.close()
  }
}
