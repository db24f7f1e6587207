import { statSync } from 'node:fs'

/** Returns the admin API's token from the text of its file. Throws a `TypeError` that names the expected form, without the text. */
export function parseAdminToken(text: string): string {
  const token = text.replace(/\r?\n$/, '')
  if (!/^[\x21-\x7E]{32,}$/.test(token)) {
    throw new TypeError('expected one line of at least 32 printable ASCII characters without blanks')
  }
  return token
}

/** Returns why the file at `path` is not private, as a sentence; undefined when only its owner reads it. Windows has no such modes. */
export function sharedFileFault(path: string): string | undefined {
  if (process.platform === 'win32' || (statSync(path).mode & 0o077) === 0) return undefined
  return `${path} can be used by others than its owner.`
}
