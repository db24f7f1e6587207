import { closeSync, openSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

const fileMode = 0o600
/** Characters that may wait for a disk that is full; what comes after that is lost. */
const maxWaiting = 16 * 1024 * 1024
const reportEveryMs = 1000
const closeWithinMs = 2000
/** Lines of so long are written together: writing each by itself costs more than the call that it records. */
const gatherMs = 20

/** Called at most once a second while writing fails. `lost` is the number of events that are missing since the last call. */
export type AuditFileFailed = (error: unknown, lost: number) => void

/**
 * A file of audit events, one JSON object a line. A write that fails is tried again with the next line, from where it stopped: it never
 * fails what it is a record of. Not a stream of pino, which waits forever for a full disk when the process ends.
 */
export class AuditFile {
  readonly #path: string
  readonly #failed: AuditFileFailed
  #handle: Promise<FileHandle>
  #waiting: string[] = []
  /** What is being written, from where it stopped. */
  #batch: Buffer = Buffer.alloc(0)
  #waitingLength = 0
  #writing: Promise<void> | undefined
  #lost = 0
  #quietUntil = 0

  /** Opens the file at `path` to append to it; a new one is readable by its owner only. Throws when that cannot be done. */
  constructor(path: string, failed: AuditFileFailed) {
    closeSync(openSync(path, 'a', fileMode))
    this.#path = path
    this.#failed = failed
    this.#handle = open(path, 'a', fileMode)
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

  /** Opens the file of that name again, after it was moved away. What is being written still goes to the old one. */
  async reopen(): Promise<void> {
    try {
      const next = await open(this.#path, 'a', fileMode)
      await this.#writing
      const previous = this.#handle
      this.#handle = Promise.resolve(next)
      await (await previous).close()
    } catch (error) {
      this.#report(error)
    }
  }

  /** Writes what is left, for two seconds at most. Lines may be up to 20 ms old until then. */
  async close(): Promise<void> {
    const timeout = new Promise<void>((resolve) => void setTimeout(resolve, closeWithinMs).unref())
    await Promise.race([this.#writing, timeout])
    await this.#handle.then((handle) => handle.close()).catch(() => {})
  }

  /** After a failure it is the next line that tries again. */
  async #run(): Promise<void> {
    let isDone: boolean
    do {
      await delay(gatherMs)
      isDone = await this.#writeBatch()
    } while (isDone && this.#waiting.length > 0)
    this.#writing = undefined
  }

  /** False when it failed. */
  async #writeBatch(): Promise<boolean> {
    try {
      const handle = await this.#handle
      if (this.#batch.length === 0) this.#nextBatch()
      while (this.#batch.length > 0) {
        const { bytesWritten } = await handle.write(this.#batch)
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
