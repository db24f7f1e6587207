import { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { useDatabaseFiles } from '../../../tests/support/server/database-file.ts'
import { createSqliteWork, type SqliteWork } from './work.ts'

const newFile = useDatabaseFiles()

let path: string
let database: DatabaseSync
let work: SqliteWork
let statements: string[]

beforeEach(() => {
  path = newFile()
  database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE item (name TEXT PRIMARY KEY) STRICT')
  statements = []
  const { run } = StatementSync.prototype
  vi.spyOn(StatementSync.prototype, 'run').mockImplementation(function (this: StatementSync, ...values) {
    statements.push(this.sourceSQL)
    return Reflect.apply(run, this, values)
  })
  work = createSqliteWork(database)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  database.close()
})

const add = (name: string): Promise<void> =>
  work.write(() => void database.prepare('INSERT INTO item VALUES (?)').run(name))

/** Returns what another connection sees: committed rows only. */
function committed(): string[] {
  const other = new DatabaseSync(path, { readOnly: true })
  const rows = other.prepare('SELECT name FROM item ORDER BY name').all()
  other.close()
  return rows.map(({ name }) => String(name))
}

const count = (sql: string): number => statements.filter((statement) => statement === sql).length

describe('writes of one turn of the event loop', () => {
  it('writes of one turn of the event loop share one commit', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        work.write(() => {
          database.prepare('INSERT INTO item VALUES (?)').run(`item ${index}`)
          return index
        }),
      ),
    )
    expect([count('BEGIN IMMEDIATE'), count('COMMIT')]).toEqual([1, 1])
    expect(answers).toEqual(answers.map((_, index) => index))
    expect(committed()).toHaveLength(100)
  })

  it('a write shares the commit of one that was requested a turn of the event loop before', async () => {
    const first = add('a')
    await nextTurn()
    await Promise.all([first, add('b')])
    expect(count('COMMIT')).toBe(1)
    await nextTurn()
    await add('c')
    expect(count('COMMIT')).toBe(2)
  })

  it('writes of one turn of the event loop resolve when all of them are committed, not before', async () => {
    const seen: number[] = []
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        await add(name)
        seen.push(committed().length)
      }),
    )
    expect(seen).toEqual([3, 3, 3])
  })

  it('writes of one turn of the event loop run in the order of their requests, each seeing those before it', async () => {
    const seen = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        work.write(() => {
          database.prepare('INSERT INTO item VALUES (?)').run(name)
          return database.prepare('SELECT name FROM item').all().length
        }),
      ),
    )
    expect(seen).toEqual([1, 2, 3])
  })

  it('writes that do not fit into one commit are split, and the event loop turns in between', async () => {
    const order: string[] = []
    const all = Array.from({ length: 600 }, async (_, index) => {
      await add(`item ${index}`)
      if (index === 0 || index === 599) order.push(`item ${index}`)
    })
    setImmediate(() => setImmediate(() => order.push('something else')))
    await Promise.all(all)
    expect(count('COMMIT')).toBe(3)
    expect(order).toEqual(['item 0', 'something else', 'item 599'])
    expect(committed()).toHaveLength(600)
  })

  it('a read in the same turn does not see the writes', async () => {
    const written = add('a')
    const read = work.read(() => database.prepare('SELECT name FROM item').all())
    expect(await read).toEqual([])
    await written
    expect(await work.read(() => database.prepare('SELECT name FROM item').all())).toEqual([{ name: 'a' }])
  })

  it('a write requested by another one goes into the next commit', async () => {
    await work.write(() => void add('b'))
    expect(committed()).toEqual([])
    await add('c')
    expect(committed()).toEqual(['b', 'c'])
  })
})

describe('reads of one turn of the event loop', () => {
  const names = (): Promise<unknown[]> =>
    work.read(() =>
      database
        .prepare('SELECT name FROM item')
        .all()
        .map(({ name }) => name),
    )
  const addElsewhere = (name: string): void => {
    const other = new DatabaseSync(path)
    other.prepare('INSERT INTO item VALUES (?)').run(name)
    other.close()
  }

  it('reads of one turn share a transaction, and the next turn sees the commits of another process', async () => {
    expect(await names()).toEqual([])
    addElsewhere('a')
    expect(await names()).toEqual([])
    await nextTurn()
    expect(await names()).toEqual(['a'])
    expect(count('BEGIN')).toBe(2)
    await nextTurn()
    expect(count('ROLLBACK')).toBe(2)
  })

  it('reads of one turn delay no write', async () => {
    await Promise.all([names(), add('a')])
    expect(committed()).toEqual(['a'])
    expect(await names()).toEqual(['a'])
  })

  it('reads of one turn are answered if one of them fails', async () => {
    const failing = work.read(() => database.prepare('SELECT missing FROM item').all())
    await expect(failing).rejects.toThrow('no such column')
    expect(await names()).toEqual([])
    await nextTurn()
    await add('a')
    expect(await names()).toEqual(['a'])
  })

  it('reads of one turn end when the store is closed', async () => {
    await names()
    work.finish()
    expect([count('BEGIN'), count('ROLLBACK')]).toEqual([1, 1])
  })
})

describe('a write that throws', () => {
  it('a write that throws for a mistake of ours rejects with it, not with an error that may pass', async () => {
    await add('a')
    await expect(add('a')).rejects.toThrow(/UNIQUE constraint failed/)
    await expect(add('a')).rejects.not.toBeInstanceOf(StoreUnavailableError)
  })

  it('a write that throws is the only one that rejects, and leaves nothing: each of the others is run again by itself', async () => {
    const runs = new Map<string, number>()
    const counted = (name: string, fails = false): Promise<void> =>
      work.write(() => {
        runs.set(name, (runs.get(name) ?? 0) + 1)
        database.prepare('INSERT INTO item VALUES (?)').run(name)
        if (fails) throw new TypeError(name)
      })
    const guilty = counted('bad', true)
    await Promise.allSettled([counted('a'), guilty, counted('b'), counted('worse', true)])
    await expect(guilty).rejects.toThrow(new TypeError('bad'))
    expect(Object.fromEntries(runs)).toEqual({ bad: 2, a: 1, b: 1, worse: 1 })
    expect(committed()).toEqual(['a', 'b'])
  })
})

it('a commit that fails rejects all of its writes as unavailable; the next one goes well', async () => {
  database.exec(`PRAGMA foreign_keys = ON; CREATE TABLE part (
      item TEXT REFERENCES item (name) DEFERRABLE INITIALLY DEFERRED) STRICT`)
  // A deferred constraint is checked by COMMIT itself.
  const orphan = work.write(() => void database.prepare('INSERT INTO part VALUES (?)').run('none'))
  const results = await Promise.allSettled([add('a'), orphan, add('b')])
  for (const result of results) {
    expect(result.status === 'rejected' && result.reason).toBeInstanceOf(StoreUnavailableError)
  }
  expect(committed()).toEqual([])
  await add('c')
  expect(committed()).toEqual(['c'])
})

describe('a database that another program writes to', () => {
  let other: DatabaseSync
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
  })
  afterEach(() => other.close())

  it('a locked database is waited for without keeping the event loop, and reads go on', async () => {
    const written = add('a')
    await vi.advanceTimersByTimeAsync(4000)
    expect(await work.read(() => database.prepare('SELECT name FROM item').all())).toEqual([])
    other.exec(`INSERT INTO item VALUES ('theirs'); COMMIT`)
    await vi.advanceTimersByTimeAsync(10)
    await written
    expect(committed()).toEqual(['a', 'theirs'])
  })

  it('a locked database is waited for as long each time, however often it was locked before', async () => {
    for (const name of ['a', 'b', 'c']) {
      const written = add(name)
      await nextTurn()
      await vi.advanceTimersByTimeAsync(4000)
      other.exec('COMMIT')
      await vi.advanceTimersByTimeAsync(10)
      await written
      other.exec('BEGIN IMMEDIATE')
    }
    expect(committed()).toEqual(['a', 'b', 'c'])
  })

  it('a locked database is unavailable after five seconds, for all callers, and usable afterwards', async () => {
    const waiting = Promise.allSettled([add('a'), add('b')])
    await nextTurn()
    await vi.advanceTimersByTimeAsync(5000)
    for (const result of await waiting) {
      expect(result.status === 'rejected' && result.reason).toBeInstanceOf(StoreUnavailableError)
      expect(result.status === 'rejected' && String(result.reason)).toContain('locked by another program')
    }
    other.exec('ROLLBACK')
    await add('c')
    expect(committed()).toEqual(['c'])
  })
})

describe('finishing', () => {
  it('finishing commits all pending writes before it returns', async () => {
    const all = Array.from({ length: 600 }, (_, index) => add(`item ${index}`))
    work.finish()
    expect(committed()).toHaveLength(600)
    await Promise.all(all)
  })

  it('a write after finishing fails, as the store is closed', async () => {
    work.finish()
    await expect(add('late')).rejects.toThrow(StoreUnavailableError)
    expect(committed()).toEqual([])
  })

  it('finishing does not wait for ever for another program', async () => {
    const other = new DatabaseSync(path)
    other.exec('BEGIN IMMEDIATE')
    const waiting = add('a')
    work.finish()
    await expect(waiting).rejects.toThrow(/locked by another program/)
    other.close()
  })

  it('a read of a closed database fails, as the store is closed', async () => {
    const select = database.prepare('SELECT name FROM item')
    work.finish()
    database.close()
    await expect(work.read(() => select.all())).rejects.toThrow(StoreUnavailableError)
    database.open()
  })
})
