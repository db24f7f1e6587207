import { appendFileSync, chmodSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { whileHeld } from '@drawbridge/shared/held-file.ts'
import { makeFolder } from '../../credentials/private-folder.ts'
import { redactSecrets } from '../../oauth/server-text.ts'

/** The log of `--debug`. */
export interface DebugLog {
  path: string
  /** Adds a line with the time. Never throws. */
  note(text: string): void
}

const maxBytes = 1_000_000

// Patterns that look like credentials. A safety net: our own messages contain none.
const suspicious: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic|dpop)\s+[\w.~+/=-]+/gi, '$1 [redacted]'],
  [/\beyJ[\w-]+\.[\w-]*(?:\.[\w-]*)?/g, '[redacted]'],
  [
    /\b((?:access|refresh|id)_token|token|code|code_verifier|client_secret|state|password|assertion|cookie)(["']?\s*[=:]\s*)("[^"]*"|[^\s&,;]+)/gi,
    '$1$2[redacted]',
  ],
  [/(\/\/)[^/@\s]+@/g, '$1[redacted]@'],
]

/** Masks `secrets`, and everything that looks like a credential. */
export function redact(text: string, secrets: readonly string[]): string {
  let redacted = redactSecrets(text, secrets, '[redacted]')
  for (const [pattern, replacement] of suspicious) redacted = redacted.replaceAll(pattern, replacement)
  return redacted
}

/** Opens the log at `path`, mode 0600. At one megabyte it is renamed to `path.1`, which replaces the previous one. */
export function createDebugLog(path: string, secrets: readonly string[]): DebugLog {
  let isBroken = false
  return {
    path,
    note(text) {
      if (isBroken) return
      const line = redact(text, secrets).replaceAll(/[\r\n]+/g, ' ')
      try {
        const entry = `${new Date().toISOString()} ${process.pid} ${line}\n`
        whileHeld(process.platform, () => append(path, entry))
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
    // The mode above applies to new files only, and less the umask.
    chmodSync(path, 0o600)
  }
  appendFileSync(path, line, { mode: 0o600 })
}
