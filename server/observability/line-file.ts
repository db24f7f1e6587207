import { closeSync, constants, openSync, write, writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { settledWithin } from '@drawbridge/shared/async.ts'

const fileMode = 0o600
/** Maximum characters waiting for a full disk; later ones are lost. */
const maxWaiting = 16 * 1024 * 1024
const reportEveryMs = 1000
const closeWithinMs = 2000
/** Batches lines for this long: writing each one separately costs more than the call it records. */
const gatherMs = 20

const writeBytes = promisify(write)

/** Called at most once a second while writing fails. `lost` is the number of events lost since the last call. */
export type WritingFailed = (error: unknown, lost: number) => void

/**
 * The log, or a file of audit events, one JSON object a line. Retries a failed write with the next line, from where it stopped: never
 * fails the operation it records. Not a pino stream: when the process ends, that waits forever for a full disk, or for a pipe whose
 * reader is gone or stuck.
 */
export class LineFile {
  readonly #target: string | number
  readonly #failed: WritingFailed
  #file: number
  #waiting: string[] = []
  /** The bytes being written, from where writing stopped. */
  #batch: Buffer = Buffer.alloc(0)
  #waitingLength = 0
  #writing: Promise<void> | undefined
  #lost = 0
  #quietUntil = 0

  /**
   * Writes to an open file, or opens the one with this path for appending; a new one is readable by its owner only. Throws if it
   * cannot.
   */
  constructor(target: string | number, failed: WritingFailed) {
    this.#file = openTarget(target)
    this.#target = target
    this.#failed = failed
  }

  write(line: string): void {
    if (this.#waitingLength + line.length > maxWaiting) {
      this.#lost += 1
    } else {
      this.#waiting.push(line)
      this.#waitingLength += line.length
    }
    this.#writing ??= this.#run()
  }

  /** Reopens the file by name, after it was moved away. The current write still goes to the old one. */
  async reopen(): Promise<void> {
    try {
      const next = openTarget(this.#target)
      await this.#writing
      closeSync(this.#file)
      this.#file = next
    } catch (error) {
      this.#report(error)
    }
  }

  /** Resolves when what was given so far is written, or has failed to be. */
  async written(): Promise<void> {
    await this.#writing
  }

  /** Writes the remaining lines, for two seconds at most. Resolves with false if some are left. */
  async close(): Promise<boolean> {
    const isOver = await settledWithin(this.#writing ?? Promise.resolve(), closeWithinMs)
    if (isOver === 'waiting') return false
    if (typeof this.#target === 'string') closeSync(this.#file)
    return true
  }

  /** Tries once to write the lines that wait, for a process that is about to end. */
  writeNow(): void {
    try {
      writeSync(this.#file, this.#waiting.join(''))
    } catch {
      // Too late for anything else.
    }
  }

  /** Writes waiting lines. After a failure the next line retries. */
  async #run(): Promise<void> {
    let isDone: boolean
    do {
      await delay(gatherMs)
      isDone = await this.#writeBatch()
    } while (isDone && this.#batch.length + this.#waiting.length > 0)
    this.#writing = undefined
  }

  /** Returns false if it failed; true also if it can go on in a moment. */
  async #writeBatch(): Promise<boolean> {
    try {
      if (this.#batch.length === 0) this.#nextBatch()
      while (this.#batch.length > 0) {
        const { bytesWritten } = await writeBytes(this.#file, this.#batch)
        this.#batch = this.#batch.subarray(bytesWritten)
      }
      return true
    } catch (error) {
      // A pipe that is full. Its reader may be slow, or gone for good.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return true
      this.#report(error)
      return false
    }
  }

  #nextBatch(): void {
    this.#batch = Buffer.from(this.#waiting.join(''))
    this.#waiting = []
    this.#waitingLength = 0
  }

  #report(error: unknown): void {
    const now = performance.now()
    if (now < this.#quietUntil) return
    this.#quietUntil = now + reportEveryMs
    this.#failed(error, this.#lost)
    this.#lost = 0
  }
}

// Without O_NONBLOCK a pipe with a name would block the start until it is read, and the end of the process once it is full.
// Windows has no such flag: undefined adds none.
const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants

function openTarget(target: string | number): number {
  return typeof target === 'number'
    ? target
    : openSync(target, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, fileMode)
}
