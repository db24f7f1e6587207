import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { decodeFileText } from '@drawbridge/shared/file-text.ts'

/** The text of a file, or a sentence that says why it cannot be had and names the file. */
export type SettingFileText =
  | { kind: 'text'; text: string }
  | { kind: 'unreadable'; code: string; fault: string }

/** Reads a file that a setting names, with or without a byte order mark. Never throws. */
export function readSettingFile(path: string): SettingFileText {
  try {
    return { kind: 'text', text: decodeFileText(readFileSync(path)) }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    return { kind: 'unreadable', code, fault: unreadableText(path, code) }
  }
}

/** Why a file cannot be read, by the code of the system's error; `path` as it was given. */
export function unreadableText(path: string, code: string): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      // Many a relative path is meant from somewhere else.
      return `there is no file ${resolve(path)}.`
    case 'EISDIR':
      return `${path} is a folder, not a file.`
    case 'EACCES':
    case 'EPERM':
      return `this user may not read ${path}. Let the user that runs the server read it.`
    default:
      return `${path} cannot be read (${code}).`
  }
}
