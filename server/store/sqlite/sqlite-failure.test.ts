import { describe, expect, it } from 'vitest'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { commitFailure, sqliteFailure } from './sqlite-failure.ts'

/** Creates an error as node:sqlite throws it. */
function sqliteError(errcode: number): Error {
  return Object.assign(new Error('sqlite said so'), { code: 'ERR_SQLITE_ERROR', errcode })
}

describe('sqliteFailure', () => {
  it.each([
    ['BUSY', 5, /locked/],
    ['BUSY_SNAPSHOT', 517, /locked/],
    ['LOCKED', 6, /locked/],
    ['NOMEM', 7, /memory/],
    ['READONLY', 8, /read-only/],
    ['READONLY_DBMOVED', 1032, /read-only/],
    ['IOERR', 10, /Reading or writing/],
    ['IOERR_WRITE', 778, /Reading or writing/],
    ['IOERR_FSYNC', 1034, /Reading or writing/],
    ['FULL', 13, /space/],
    ['CANTOPEN', 14, /opened/],
    ['PROTOCOL', 15, /locked/],
  ])('the SQLite failure %s may pass', (_name, errcode, message) => {
    const cause = sqliteError(errcode)
    const failure = sqliteFailure(cause)
    expect(failure).toBeInstanceOf(StoreUnavailableError)
    expect(failure).toMatchObject({ message: expect.stringMatching(message), cause })
    expect(commitFailure(cause)).toEqual(failure)
  })

  it.each<[what: string, error: unknown]>([
    ['ERROR', sqliteError(1)],
    ['CORRUPT', sqliteError(11)],
    ['CORRUPT_INDEX', sqliteError(779)],
    ['CONSTRAINT_UNIQUE', sqliteError(2067)],
    ['NOTADB', sqliteError(26)],
    ['an error of ours', new TypeError('Mine.')],
    ['a text', 'text'],
    ['nothing', undefined],
    ['something with a number', { errcode: 13 }],
  ])('the SQLite failure %s does not pass, and stays unchanged', (_what, error) =>
    expect(sqliteFailure(error)).toBe(error),
  )
})

describe('commitFailure', () => {
  it.each([
    ['a failed constraint', 787],
    ['an interruption', 9],
  ])('a commit that fails with %s stored nothing, and may be tried again', (_what, errcode) => {
    const cause = sqliteError(errcode)
    expect(commitFailure(cause)).toBeInstanceOf(StoreUnavailableError)
    expect(commitFailure(cause)).toMatchObject({ cause })
  })

  it('corruption is not swallowed', () => {
    const error = sqliteError(11)
    expect(commitFailure(error)).toBe(error)
  })
})
