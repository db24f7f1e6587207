import { readFileSync, statSync } from 'node:fs'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'

/** What following a file takes. */
export interface FollowedFileOptions<Value> {
  /** Throws for text that holds no value. */
  parse: (text: string) => Value
  /** Epoch seconds. */
  now: () => number
  /** Called when the file has changed, with its new value, or with why it has none: then the previous one stays in use. */
  changed?: (change: { kind: 'value'; value: Value } | { kind: 'unusable'; error: unknown }) => void
}

/** The value of a file that may change at any time. */
export interface FollowedFile<Value> {
  /** The value of the file as it was within the last second. */
  current(): Value
  /** Looks at the file at once. */
  refresh(): void
}

/**
 * Reads the file at `path` and follows its changes. Throws when it cannot be read or holds no value now.
 *
 * Each look is one `stat`, and only another file is read. No timer runs. While the file is missing or broken, the last value
 * stays in use.
 */
export function followFile<Value>(path: string, options: FollowedFileOptions<Value>): FollowedFile<Value> {
  const { parse, now, changed } = options
  const read = (): Value => parse(decodeFileText(readFileSync(path)))
  // Stat before read: a write in between is seen by the next look.
  let seen = fingerprint(path)
  let lookedAt = now()
  let value = read()

  function refresh(): void {
    lookedAt = now()
    const found = fingerprint(path)
    if (found === seen) return
    seen = found
    try {
      value = read()
      changed?.({ kind: 'value', value })
    } catch (error) {
      changed?.({ kind: 'unusable', error })
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

/** Another file, or a file written to, has another one. Replacing a file is seen even within one tick of its clock. */
function fingerprint(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown'
  }
}
