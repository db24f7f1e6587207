import { readFileSync, statSync } from 'node:fs'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'
import { whileHeld } from '@drawbridge/shared/held-file.ts'

export interface FollowedFileOptions<Value> {
  /** Throws for invalid text. */
  parse: (text: string) => Value
  /** Epoch seconds. */
  now: () => number
  /** Called when the file has changed, with its new value, or with the reason it has none: the previous value then stays in use. */
  changed?: (change: { kind: 'value'; value: Value } | { kind: 'unusable'; error: unknown }) => void
}

export interface FollowedFile<Value> {
  /** Returns the file's value, at most a second old. */
  current(): Value
  refresh(): void
}

/**
 * Reads the file at `path` and follows its changes. Throws if it cannot be read or is invalid now.
 *
 * Each check is one `stat`; the file is read only if it changed. Uses no timer. While the file is missing or invalid, the last
 * value stays in use.
 */
export function followFile<Value>(path: string, options: FollowedFileOptions<Value>): FollowedFile<Value> {
  const { parse, now, changed } = options
  const read = (): Value => parse(decodeFileText(whileHeld(process.platform, () => readFileSync(path))))
  // Stat before read: the next check sees a write in between.
  let seen = fingerprint(path)
  let lookedAt = now()
  let value = read()
  let isUnread = false

  function refresh(): void {
    lookedAt = now()
    const found = fingerprint(path)
    const isSame = found === seen
    if (isSame && !isUnread) return
    seen = found
    try {
      value = read()
      isUnread = false
      changed?.({ kind: 'value', value })
    } catch (error) {
      // What the system does not let this process read now it may in a moment.
      isUnread = error instanceof Error && 'syscall' in error
      if (!isSame) changed?.({ kind: 'unusable', error })
    }
  }

  return {
    current() {
      if (now() !== lookedAt) refresh()
      return value
    },
    refresh,
  }
}

/**
 * Returns a value that changes when the file is replaced or written. A replacement is seen even within one tick of the file
 * system's clock.
 */
function fingerprint(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown'
  }
}
