import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { countRows, inspectDatabase, useDatabaseFiles } from '../../../tests/support/server/database-file.ts'
import { addGrant, grantSample } from '../../../tests/support/server/core/grant-sample.ts'
import { openSqliteStore } from './sqlite.ts'
import { migrateSqlite, sqliteMigrations } from './sqlite-schema.ts'

const newFile = useDatabaseFiles()

const userVersion = (path: string): unknown =>
  inspectDatabase(path, (database) => database.prepare('PRAGMA user_version').get()?.['user_version'])

it('an empty file is brought from version 0 to the newest', async () => {
  const path = newFile()
  writeFileSync(path, '')
  const store = openSqliteStore(path)
  await addGrant(store, grantSample('a'))
  await store.close()
  expect(userVersion(path)).toBe(sqliteMigrations.length)
})

it('a migration that fails leaves the file as it was', () => {
  const path = newFile()
  const database = new DatabaseSync(path)
  database.exec('CREATE TABLE provider_session (mine TEXT)')
  database.close()
  expect(() => openSqliteStore(path)).toThrow(/provider_session/)
  expect(userVersion(path)).toBe(0)
  expect(countRows(path)).toEqual({ provider_session: 0 })
})

it('an older schema is brought up step by step, with what is in it; a step that fails leaves the version before', async () => {
  const path = newFile()
  const store = openSqliteStore(path)
  const { grant } = await addGrant(store, grantSample('a'))
  await store.close()
  const database = new DatabaseSync(path)
  const steps = [
    ...sqliteMigrations,
    'ALTER TABLE grants ADD COLUMN label TEXT; UPDATE grants SET label = id;',
  ]
  expect(() =>
    migrateSqlite(database, [...steps, 'CREATE TABLE half (x TEXT); CREATE TABLE grants (x TEXT);']),
  ).toThrow(/grants/)
  expect(database.prepare('SELECT label FROM grants').get()).toEqual({ label: grant.id })
  database.close()
  expect(userVersion(path)).toBe(steps.length)
  expect(countRows(path)).not.toHaveProperty('half')
})

it('a newer schema is refused and untouched', () => {
  const path = newFile()
  const database = new DatabaseSync(path)
  database.exec('CREATE TABLE future (x TEXT); PRAGMA user_version = 99')
  database.close()
  expect(() => openSqliteStore(path)).toThrow(
    `schema 99, this version knows up to ${sqliteMigrations.length}`,
  )
  expect(countRows(path)).toEqual({ future: 0 })
})
