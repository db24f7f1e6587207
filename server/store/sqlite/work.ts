import type { DatabaseSync } from 'node:sqlite'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import { commitFailure, isBusy, sqliteFailure } from './sqlite-failure.ts'

/** Keeps one commit from blocking the event loop for more than a few milliseconds. */
const maxPerCommit = 256
/** While another program writes, the lock is retried without blocking the event loop. */
const lockedPauseMs = 10
const maxLockedTries = 500

/** Runs the operations of the SQLite store on its database. Errors reach callers as `sqliteFailure` translates them. */
export interface SqliteWork {
  /**
   * Runs `work` at once. It sees only committed data: no write is half done while other code runs. What another process commits is
   * seen from the next turn of the event loop.
   */
  read<Result>(work: () => Result): Promise<Result>
  /**
   * Runs `work` in a transaction shared with other callers' writes, and resolves when that is on disk. Stores all of `work`, or
   * nothing if it throws. `work` must not await, and may run twice: if another one throws, each runs again on its own.
   */
  write<Result>(work: () => Result): Promise<Result>
  /** Commits pending writes. Later calls reject because the store is closed. */
  finish(): void
}

interface QueuedWrite {
  work: () => unknown
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

/**
 * Creates the {@link SqliteWork} on `database`. The disk is slow to sync and fast to write, so the writes of two turns of the event
 * loop are committed together; the reads of one share a transaction too, since locking the file takes longer than most of them. `pauseMs`
 * delays each commit, to leave room for another process.
 */
export function createSqliteWork(database: DatabaseSync, pauseMs = 0): SqliteWork {
  const queue: QueuedWrite[] = []
  const transaction = createTransaction(database)
  let scheduled = false
  let reading = false
  let lockedTries = 0
  let finished = false

  function schedule(delayMs: number): void {
    if (scheduled) return
    scheduled = true
    if (delayMs > 0) setTimeout(flush, delayMs)
    // A turn later, as a sync is slow: what arrives in the meantime shares it.
    else setImmediate(() => setImmediate(flush))
  }

  function beginReads(): void {
    if (reading) return
    transaction.beginReads()
    reading = true
    setImmediate(endReads)
  }

  function endReads(): void {
    if (reading) transaction.rollback()
    reading = false
  }

  function flush(): void {
    scheduled = false
    endReads()
    if (queue.length === 0) return
    try {
      transaction.begin()
    } catch (error) {
      return refuse(error)
    }
    lockedTries = 0
    commit(queue.splice(0, maxPerCommit), transaction)
    if (queue.length > 0) schedule(pauseMs)
  }

  function refuse(error: unknown): void {
    lockedTries += 1
    if (isBusy(error) && lockedTries < maxLockedTries && !finished) return schedule(lockedPauseMs)
    lockedTries = 0
    for (const { reject } of queue.splice(0)) reject(sqliteFailure(error))
  }

  return {
    read: async (work) => {
      try {
        beginReads()
        return work()
      } catch (error) {
        throw sqliteFailure(error)
      }
    },
    write: (work) =>
      new Promise((resolve, reject) => {
        if (finished) return reject(new StoreUnavailableError('The store is closed.', { cause: undefined }))
        queue.push({ work, resolve: resolve as QueuedWrite['resolve'], reject })
        schedule(pauseMs)
      }),
    finish() {
      finished = true
      endReads()
      while (queue.length > 0) flush()
    },
  }
}

function commit(batch: readonly QueuedWrite[], transaction: Transaction): void {
  let results: unknown[]
  try {
    results = batch.map(({ work }) => work())
  } catch (error) {
    transaction.rollback()
    return batch.length === 1 ? batch[0]?.reject(sqliteFailure(error)) : commitEach(batch, transaction)
  }
  try {
    transaction.commit()
  } catch (error) {
    transaction.rollback()
    for (const { reject } of batch) reject(commitFailure(error))
    return
  }
  for (const [index, { resolve }] of batch.entries()) resolve(results[index])
}

function commitEach(batch: readonly QueuedWrite[], transaction: Transaction): void {
  for (const write of batch) {
    try {
      transaction.begin()
    } catch (error) {
      write.reject(sqliteFailure(error))
      continue
    }
    commit([write], transaction)
  }
}

type Transaction = ReturnType<typeof createTransaction>

function createTransaction(database: DatabaseSync) {
  const beginReads = database.prepare('BEGIN')
  // Takes the write lock at once, so that no step fails half-way for lack of it.
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const rollback = database.prepare('ROLLBACK')
  return {
    beginReads: () => void beginReads.run(),
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    rollback() {
      try {
        rollback.run()
      } catch {
        // Some failures have rolled back already.
      }
    },
  }
}
