import { statSync } from 'node:fs'
import { readSettingFile } from './setting-file-text.ts'

/** The token of the admin API in the text of a file. Throws a `TypeError` that says what is expected, without the text. */
export function parseAdminToken(text: string): string {
  const token = text.replace(/\r?\n$/, '')
  if (!/^[\x21-\x7E]{32,}$/.test(token)) {
    throw new TypeError('expected one line of at least 32 printable ASCII characters without blanks')
  }
  return token
}

/** Why the file at `path` is not private, as a sentence; undefined when only its owner reads it. Windows has no such modes. */
export function sharedFileFault(path: string): string | undefined {
  if (process.platform === 'win32' || (statSync(path).mode & 0o077) === 0) return undefined
  return `${path} can be used by others than its owner.`
}

/** What is wrong with the file of the token, and what to do; undefined when nothing is. The token is in neither sentence. */
export function adminTokenFault(path: string): { problem: string; nextStep: string } | undefined {
  const make = `Make it with: umask 077; openssl rand -base64 32 > ${path}`
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') return { problem: file.fault, nextStep: make }
  const shared = sharedFileFault(path)
  if (shared !== undefined) return { problem: shared, nextStep: `chmod 600 ${path}` }
  try {
    parseAdminToken(file.text)
    return undefined
  } catch (error) {
    return { problem: `${path} holds no token: ${(error as Error).message}.`, nextStep: make }
  }
}
