import { describe, expect, it } from 'vitest'
import { openDatabase, type Database } from './database.ts'

const setting = (database: Database, name: string): string | undefined =>
  database.get<{ value: string }>('SELECT value FROM setting WHERE name = ?', name)?.value

const insert = (database: Database, name: string): number =>
  database.run('INSERT INTO setting (name, value) VALUES (?, ?)', name, 'x')

describe('a transaction', () => {
  it('commits what it did and returns its result', () => {
    const database = openDatabase(':memory:')
    expect(database.transaction(() => insert(database, 'a'))).toBe(1)
    expect(setting(database, 'a')).toBe('x')
    database.close()
  })

  it('does nothing when it throws, and the next one works', () => {
    const database = openDatabase(':memory:')
    const failing = (): void =>
      database.transaction(() => {
        insert(database, 'a')
        throw new Error('no')
      })
    expect(failing).toThrow('no')
    expect(setting(database, 'a')).toBeUndefined()
    database.transaction(() => insert(database, 'b'))
    expect(setting(database, 'b')).toBe('x')
    database.close()
  })

  it('inside another belongs to it', () => {
    const database = openDatabase(':memory:')
    const failing = (): void =>
      database.transaction(() => {
        database.transaction(() => insert(database, 'inner'))
        throw new Error('no')
      })
    expect(failing).toThrow('no')
    expect(setting(database, 'inner')).toBeUndefined()
    database.close()
  })
})

describe('the database', () => {
  it('keeps references whole', () => {
    const database = openDatabase(':memory:')
    const orphan = (): number =>
      database.run(`INSERT INTO factor VALUES ('f', 'nobody', 'name', 'verified', 'SECRET', 1, 1)`)
    expect(orphan).toThrow(/FOREIGN KEY/)
    database.close()
  })

  it('refuses values of the wrong type', () => {
    const database = openDatabase(':memory:')
    const wrong = (): number =>
      database.run(`INSERT INTO account VALUES ('a', 'a@b', NULL, 'not a time', NULL, '{}', NULL, 1, 1)`)
    expect(wrong).toThrow(/cannot store TEXT/)
    database.close()
  })

  it('lists rows, and counts changed ones', () => {
    const database = openDatabase(':memory:')
    for (const name of ['a', 'b', 'c']) insert(database, name)
    const names = database.all<{ name: string }>('SELECT name FROM setting ORDER BY name DESC')
    expect(names.map(({ name }) => name)).toEqual(['c', 'b', 'a'])
    expect(database.run(`DELETE FROM setting WHERE name <> 'a'`)).toBe(2)
    expect(database.run(`DELETE FROM setting WHERE name = 'z'`)).toBe(0)
    database.close()
  })
})
