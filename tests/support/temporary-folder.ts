import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * Makes a folder for the test that runs, or is about to; returns its path without symbolic links. For all tests of a file,
 * `whenOver` is `afterAll`.
 */
export function temporaryFolder(whenOver: (work: () => void) => void = onTestFinished): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'drawbridge-')))
  whenOver(() => rmSync(path, { recursive: true, force: true }))
  return path
}
