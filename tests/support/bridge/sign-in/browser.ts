import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./browser-process.ts', import.meta.url))

/** A program that bridges open as their user's browser. */
export interface Browser {
  /** Environment for a bridge. */
  environment: Readonly<Record<string, string>>
  /** Returns every opened link, in order. */
  openings(): string[]
  remove(): void
}

/** Creates a browser whose user finishes after `pauseMs`. */
export function createBrowser(pauseMs: number): Browser {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-browser-'))
  const log = join(folder, 'openings')
  writeFileSync(log, '')
  return {
    environment: { BROWSER: `${process.execPath} ${program} ${log} ${pauseMs} %s` },
    openings: () => readFileSync(log, 'utf8').split('\n').filter(Boolean),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
