import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { sqliteMigrations } from '../store/sqlite/sqlite-schema.ts'
import { openSqliteStore } from '../store/sqlite/sqlite.ts'
import { createCommandFixture } from '../../tests/support/server/command-fixture.ts'
import { type PostgresServer, startPostgres } from '../../tests/support/server/postgres-server.ts'
import { OperatorRefusal } from '../core/operator/operation.ts'
import { migrate } from './migrate.ts'

const newest = sqliteMigrations.length
let folder: string
let path: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder, 'server.db')
})

function run(store: string): Promise<Record<string, unknown>> {
  const { input, facts } = createCommandFixture({ STORE: store }, { json: true })
  return migrate(input).then((code) => ({ code, ...facts() }))
}

it('migrate creates a missing store', async () => {
  expect(await run(`sqlite:${path}`)).toEqual({
    code: 0,
    ok: true,
    store: `sqlite:${path}`,
    from: 0,
    to: newest,
  })
  expect(existsSync(path)).toBe(true)
})

it('migrate creates the schema in an empty file, and prints the previous version', async () => {
  new DatabaseSync(path).close()
  expect(await run(`sqlite:${path}`)).toMatchObject({ code: 0, from: 0, to: newest })
  await openSqliteStore(path, { shared: true }).close()
})

it('migrate leaves the newest schema alone, even while a server runs', async () => {
  const store = openSqliteStore(path)
  expect(await run(`sqlite:${path}`)).toMatchObject({ code: 0, from: newest, to: newest })
  await store.close()
})

it('migrate fails for an old schema that a server holds', async () => {
  await openSqliteStore(path).close()
  const held = new DatabaseSync(`${path}.lock`)
  held.exec('BEGIN EXCLUSIVE')
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA user_version = ${newest - 1}`)
  database.close()
  const failure = await run(`sqlite:${path}`).catch((error: unknown) => error)
  held.close()
  expect(failure).toBeInstanceOf(OperatorRefusal)
  expect((failure as OperatorRefusal).message).toMatch(/was not migrated: Another Drawbridge uses/)
  expect((failure as OperatorRefusal).status).toBe(409)
})

it('migrate does nothing for a store in memory', async () => {
  expect(await run('memory:')).toMatchObject({ code: 0, ok: true })
})

describe('on Postgres', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.close())

  it('migrate creates the schema in Postgres once', async () => {
    const url = await server.createDatabase()
    const first = await run(url)
    expect(first).toMatchObject({ code: 0, from: 0 })
    expect(await run(url)).toMatchObject({ code: 0, from: first['to'], to: first['to'] })
    expect(JSON.stringify(first)).not.toContain('sesame')
  })

  it('migrate creates the tables in the schema that the address names, and reads their version there', async () => {
    const url = await server.createDatabase()
    const first = await run(`${url}?schema=apart`)
    expect(first).toMatchObject({ code: 0, from: 0 })
    expect(await run(`${url}?schema=apart`)).toMatchObject({ code: 0, from: first['to'] })
    expect(await server.query(url, `SELECT to_regclass('public.grants') IS NULL AS free`)).toEqual([
      { free: true },
    ])
  })

  it('migrate fails for a missing database without printing its password', async () => {
    const failure = await run(server.url('nothing')).catch((error: unknown) => error)
    expect((failure as OperatorRefusal).message).toContain('was not migrated')
    expect((failure as OperatorRefusal).message).not.toContain('sesame')
  })
})
