import { closeSync, openSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

const fileMode = 0o600
/** What may wait for a disk that is full; what comes after that is lost. */
const maxWaitingBytes = 16 * 1024 * 1024
const reportEveryMs = 1000
const closeWithinMs = 2000

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
  #waiting: Buffer[] = []
  #waitingBytes = 0
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
    const bytes = Buffer.from(line)
    if (this.#waitingBytes + bytes.length > maxWaitingBytes) {
      this.#lost += 1
    } else {
      this.#waiting.push(bytes)
      this.#waitingBytes += bytes.length
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

  /** Writes what is left, for two seconds at most. */
  async close(): Promise<void> {
    const timeout = new Promise<void>((resolve) => void setTimeout(resolve, closeWithinMs).unref())
    await Promise.race([this.#writing, timeout])
    await this.#handle.then((handle) => handle.close()).catch(() => {})
  }

  /** After a failure it is the next line that tries again. */
  async #run(): Promise<void> {
    let isDone: boolean
    do isDone = await this.#writeAll()
    while (isDone && this.#waiting.length > 0)
    this.#writing = undefined
  }

  /** False when it failed. */
  async #writeAll(): Promise<boolean> {
    try {
      const handle = await this.#handle
      while (this.#waiting.length > 0) {
        const bytes = Buffer.concat(this.#waiting)
        const { bytesWritten } = await handle.write(bytes)
        this.#take(bytesWritten)
      }
      return true
    } catch (error) {
      this.#report(error)
      return false
    }
  }

  /** Drops what has been written. Lines may have been added since. */
  #take(count: number): void {
    this.#waitingBytes -= count
    let left = count
    while (left > 0) {
      const [first] = this.#waiting
      if (!first) return
      if (first.length > left) {
        this.#waiting[0] = first.subarray(left)
        return
      }
      this.#waiting.shift()
      left -= first.length
    }
  }

  #report(error: unknown): void {
    const now = performance.now()
    if (now < this.#quietUntil) return
    this.#quietUntil = now + reportEveryMs
    this.#failed(error, this.#lost)
    this.#lost = 0
  }
}
