import { openSync } from 'node:fs'
import { pino } from 'pino'

/** A file of audit events, one JSON object a line. */
export interface AuditFile {
  write(line: string): void
  /** Opens the file of that name again, after it was moved away. */
  reopen(): void
  /** Writes what is left. */
  close(): void
}

/** What a disk that is full leaves waiting in memory; what comes after that is lost. */
const maxWaitingBytes = 16 * 1024 * 1024
const reportEveryMs = 1000

/**
 * Opens the file at `path` to append to it; a new one is readable by its owner only. Throws when that cannot be done. A write that
 * fails is tried again with the next one, and reported at most once a second: it never fails what it is a record of.
 */
export function openAuditFile(path: string, failed: (error: unknown, lost: boolean) => void): AuditFile {
  let quietUntil = 0
  const report = (error: unknown, lost: boolean): void => {
    const now = performance.now()
    if (now < quietUntil) return
    quietUntil = now + reportEveryMs
    failed(error, lost)
  }
  const file = pino.destination({ fd: openSync(path, 'a', 0o600), maxLength: maxWaitingBytes, sync: false })
  file.on('error', (error: unknown) => report(error, false))
  file.on('drop', () => report(new Error('The audit file takes no more, and audit events are lost.'), true))
  return {
    write: (line) => void file.write(line),
    reopen: () => file.reopen(path),
    close() {
      try {
        file.flushSync()
      } catch (error) {
        failed(error, true)
      }
      file.end()
    },
  }
}
