import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** Makes a folder for the test that runs, or is about to; returns its path without symbolic links. */
export function temporaryFolder(): string {
  const path = makeFolder()
  onTestFinished(() => remove(path))
  return path
}

/** The same for all tests of the file or `describe` that calls this while it is collected; it goes after all else of them. */
export function folderOfAll(): string {
  const path = makeFolder()
  afterAll(() => remove(path))
  return path
}

const makeFolder = (): string => realpathSync(mkdtempSync(join(tmpdir(), 'drawbridge-')))

const remove = (path: string): void => rmSync(path, { recursive: true, force: true, maxRetries: 5 })
