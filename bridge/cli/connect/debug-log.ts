import { appendFileSync, chmodSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../../credentials/private-folder.ts'
import { redactSecrets } from '../../oauth/server-text.ts'

/** A log for a person who debugs. */
export interface DebugLog {
  path: string
  /** Adds a line with the time. Never throws. */
  note(text: string): void
}

const maxBytes = 1_000_000

// What could be a credential, whoever put it into a line. The texts of the bridge hold none: this is the second lock.
const suspicious: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic|dpop)\s+[\w.~+/=-]+/gi, '$1 [redacted]'],
  [/\beyJ[\w-]+\.[\w-]*(?:\.[\w-]*)?/g, '[redacted]'],
  [
    /\b((?:access|refresh|id)_token|token|code|code_verifier|client_secret|state|password|assertion|cookie)(["']?\s*[=:]\s*)("[^"]*"|[^\s&,;]+)/gi,
    '$1$2[redacted]',
  ],
  [/(\/\/)[^/@\s]+@/g, '$1[redacted]@'],
]

/** A text without anything that looks like a credential, and without `secrets`, which are known to be some. */
export function redact(text: string, secrets: readonly string[]): string {
  let redacted = redactSecrets(text, secrets, '[redacted]')
  for (const [pattern, replacement] of suspicious) redacted = redacted.replaceAll(pattern, replacement)
  return redacted
}

/** The log at `path`, 0600. At a megabyte it becomes `path.1`, in place of the one before. */
export function createDebugLog(path: string, secrets: readonly string[]): DebugLog {
  let isBroken = false
  return {
    path,
    note(text) {
      if (isBroken) return
      const line = redact(text, secrets).replaceAll(/[\r\n]+/g, ' ')
      try {
        append(path, `${new Date().toISOString()} ${process.pid} ${line}\n`)
      } catch {
        isBroken = true
      }
    },
  }
}

function append(path: string, line: string): void {
  try {
    if (statSync(path).size + line.length > maxBytes) renameSync(path, `${path}.1`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    makeFolder(dirname(path))
    appendFileSync(path, '', { mode: 0o600 })
    // The mode of the call counts for new files only, and the umask takes from it.
    chmodSync(path, 0o600)
  }
  appendFileSync(path, line, { mode: 0o600 })
}
