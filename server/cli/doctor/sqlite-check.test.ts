import { chmodSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { sqliteMigrations } from '../../store/sqlite/sqlite-schema.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite.ts'
import {
  addSealedGrant,
  grantSeconds,
  sealerSample,
  start,
} from '../../../tests/support/server/core/grant-sample.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import { checkStore, readSqlite, sqliteChecks } from './store-check.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder, 'server.db')
})

async function states(): Promise<Record<string, string>> {
  const { findings } = await checkStore(
    { store: { kind: 'sqlite', path }, providerIssuer: 'https://provider' },
    { kids: ['a'], now: 0 },
  )
  return Object.fromEntries(findings.map(({ name, state }) => [name, state]))
}

describe('doctor, on a SQLite file', () => {
  it('doctor does not create a missing SQLite file', () => {
    path = join(folder, 'not', 'yet', 'server.db')
    const report = readSqlite(path)
    expect(report).toMatchObject({ isRunning: false, schema: undefined })
    expect(findingsOf(sqliteChecks, report)[0]).toMatchObject({
      state: 'ok',
      message: expect.stringContaining('first start creates'),
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it('doctor passes a SQLite file that no server uses, and leaves it unchanged', async () => {
    await openSqliteStore(path).close()
    const before = readdirSync(folder)
    const report = readSqlite(path)
    expect(report).toMatchObject({ isRunning: false, schema: sqliteMigrations.length })
    expect(await states()).toMatchObject({
      store: 'ok',
      'store-schema': 'ok',
      'sealing-keys': 'ok',
    })
    expect(findingsOf(sqliteChecks, report)[0]?.message).toContain('no server is running')
    expect(readdirSync(folder)).toEqual(before)
  })

  it('doctor passes a SQLite file that a server uses, and says so', async () => {
    const store = openSqliteStore(path)
    const report = readSqlite(path)
    expect(report).toMatchObject({ isRunning: true, schema: sqliteMigrations.length })
    expect(findingsOf(sqliteChecks, report)[0]?.message).toContain('a server is running')
    await store.close()
    expect(readSqlite(path).isRunning).toBe(false)
  })

  it('doctor reports connections of another provider in a SQLite file, unless they have ended', async () => {
    const store = openSqliteStore(path)
    await addSealedGrant(store, sealerSample('a'), 'ada')
    const found = async (providerIssuer: string, now = start) => {
      const config = { store: { kind: 'sqlite', path }, providerIssuer } as const
      const { findings } = await checkStore(config, { kids: ['a'], now })
      return findings.find(({ name }) => name === 'other-provider')
    }
    expect(await found('https://provider')).toBeUndefined()
    expect(await found('https://provider/auth/v1')).toMatchObject({
      state: 'fail',
      message: expect.stringContaining('of another provider, https://provider:'),
      fix: expect.stringContaining('set DRAWBRIDGE_STORE to a new store'),
    })
    expect(await found('https://other', start + grantSeconds)).toBeUndefined()
    await store.close()
  })

  it.each([
    ['older', sqliteMigrations.length - 1, { 'store-schema': 'ok' }],
    ['newer', sqliteMigrations.length + 1, { store: 'fail' }],
  ])('doctor reads no further in a SQLite file of an %s version', async (_, version, state) => {
    await openSqliteStore(path).close()
    const database = new DatabaseSync(path)
    database.exec(`PRAGMA user_version = ${version}`)
    database.close()
    const found = await states()
    expect(found).not.toHaveProperty('sealing-keys')
    expect(found).toMatchObject(state)
  })

  it('doctor warns about a SQLite file that every user can read', async () => {
    await openSqliteStore(path).close()
    chmodSync(path, 0o644)
    expect((await states())['store-mode']).toBe('warn')
  })
})
