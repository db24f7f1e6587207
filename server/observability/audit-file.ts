import { closeSync, openSync, write } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

const fileMode = 0o600
/** Maximum characters waiting for a full disk; later ones are lost. */
const maxWaiting = 16 * 1024 * 1024
const reportEveryMs = 1000
const closeWithinMs = 2000
/** Batches lines for this long: writing each one separately costs more than the call it records. */
const gatherMs = 20

const writeBytes = promisify(write)

/** Called at most once a second while writing fails. `lost` is the number of events lost since the last call. */
export type AuditFileFailed = (error: unknown, lost: number) => void

/**
 * A file of audit events, one JSON object a line. Retries a failed write with the next line, from where it stopped: never fails the
 * operation it records. Not a pino stream, which waits forever for a full disk when the process ends.
 */
export class AuditFile {
  readonly #path: string
  readonly #failed: AuditFileFailed
  #file: number
  #waiting: string[] = []
  /** The bytes being written, from where writing stopped. */
  #batch: Buffer = Buffer.alloc(0)
  #waitingLength = 0
  #writing: Promise<void> | undefined
  #lost = 0
  #quietUntil = 0

  /** Opens the file at `path` for appending; a new one is readable by its owner only. Throws if it cannot. */
  constructor(path: string, failed: AuditFileFailed) {
    this.#file = openSync(path, 'a', fileMode)
    this.#path = path
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
      const next = openSync(this.#path, 'a', fileMode)
      await this.#writing
      closeSync(this.#file)
      this.#file = next
    } catch (error) {
      this.#report(error)
    }
  }

  /** Writes what is left, for two seconds at most. Until then lines may be up to 20 ms old. */
  async close(): Promise<void> {
    const timeout = new Promise<void>((resolve) => void setTimeout(resolve, closeWithinMs).unref())
    await Promise.race([this.#writing, timeout])
    // A write that hangs still uses it.
    if (!this.#writing) closeSync(this.#file)
  }

  /** Writes waiting lines. After a failure the next line retries. */
  async #run(): Promise<void> {
    let isDone: boolean
    do {
      await delay(gatherMs)
      isDone = await this.#writeBatch()
    } while (isDone && this.#waiting.length > 0)
    this.#writing = undefined
  }

  /** Returns false if it failed. */
  async #writeBatch(): Promise<boolean> {
    try {
      if (this.#batch.length === 0) this.#nextBatch()
      while (this.#batch.length > 0) {
        const { bytesWritten } = await writeBytes(this.#file, this.#batch)
        this.#batch = this.#batch.subarray(bytesWritten)
      }
      return true
    } catch (error) {
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
