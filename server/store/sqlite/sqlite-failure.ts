import { StoreUnavailableError } from '../../core/store-unavailable.ts'

const corrupt = 11

/** Primary result codes of SQLite after which the same call may succeed later. */
const passing: ReadonlyMap<number, string> = new Map([
  [5, 'The database is locked by another program.'],
  [6, 'The database is locked by another program.'],
  [7, 'There is not enough memory for the database.'],
  [8, 'The database is read-only.'],
  [10, 'Reading or writing the database failed.'],
  [13, 'There is no space left for the database.'],
  [14, 'The database cannot be opened.'],
  [15, 'The database is locked by another program.'],
])

/**
 * Translates an error of node:sqlite for callers: {@link StoreUnavailableError} with it as the cause if it may be temporary,
 * otherwise the error itself. A damaged file and a mistake of ours are not temporary.
 */
export function sqliteFailure(error: unknown): unknown {
  if (isClosed(error)) return new StoreUnavailableError('The store is closed.', { cause: error })
  const message = passing.get(primaryCode(error))
  return message === undefined ? error : new StoreUnavailableError(message, { cause: error })
}

/** Translates the {@link sqliteFailure} of a commit: it changed nothing, and may be retried. */
export function commitFailure(error: unknown): unknown {
  const failure = sqliteFailure(error)
  if (failure instanceof StoreUnavailableError || primaryCode(error) === corrupt) return failure
  return new StoreUnavailableError('The database did not commit.', { cause: error })
}

/** Returns whether another connection holds the required lock. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === 5
}

function primaryCode(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? error.errcode : undefined
  // The low byte is the primary code; the rest distinguishes kinds of it.
  return typeof code === 'number' ? code & 0xff : 0
}

function isClosed(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE'
}
