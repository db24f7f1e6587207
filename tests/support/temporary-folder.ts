import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Makes a folder for the test that runs, or is about to; returns its path without symbolic links. */
export function temporaryFolder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'drawbridge-')))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}
