import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * Makes a folder for the test that runs, or is about to; returns its path without symbolic links. For all tests of a file or
 * `describe`, `whenOver` is `afterAll`: it goes after all else of them.
 */
export function temporaryFolder(whenOver: (work: () => void) => void = onTestFinished): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'drawbridge-')))
  whenOver(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
  return path
}
