import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'

/** Writes `text` durably to a file of its own beside `path`, for its owner only, and answers where. */
export function writeDraft(path: string, text: string): string {
  const draft = `${path}.${process.pid}.new`
  // A draft of this name can only be left over from a process that died.
  rmSync(draft, { force: true })
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return draft
}

/** Makes durable what was created or renamed in the folder at `path`, where the system can. */
export function syncFolder(path: string): void {
  // Windows opens no folders.
  if (process.platform === 'win32') return
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
