import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { findChromium } from '../server/headless-chromium.ts'
import type { BrowserKind } from './test-browser.ts'

const missingFirefox = 'no Firefox found: set FIREFOX_BIN or install the apt package `firefox-esr`'

/**
 * Finds the browser to test with: CHROMIUM_BIN or FIREFOX_BIN, or else `chromium`, `firefox-esr` or `firefox` on
 * PATH, or else undefined. Prints one line when there is none, and throws instead when CI=true.
 */
export function findBrowser(
  kind: BrowserKind,
  environment: NodeJS.ProcessEnv = process.env,
): string | undefined {
  if (kind === 'chromium') return findChromium(environment)
  const named = environment['FIREFOX_BIN']
  const found = named || findProgram('firefox-esr', environment) || findProgram('firefox', environment)
  if (found) return found
  if (environment['CI'] === 'true') throw new Error(missingFirefox)
  process.stderr.write(`skipped: ${missingFirefox}\n`)
  return undefined
}

/** Finds a program on PATH. */
export function findProgram(name: string, environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return (environment['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
