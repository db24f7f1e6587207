import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Finds a program in PATH, or where distributions put servers. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

/** Says what tests need that this computer does not have: they are skipped then, and with CI=true they fail. */
export function skipWithout(missing: string, cause?: unknown): false {
  if (process.env['CI'] === 'true') throw new Error(missing, { cause })
  process.stderr.write(`skipped: ${missing}\n`)
  return false
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
