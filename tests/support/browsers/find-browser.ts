import { findProgram, skipWithout } from '../find-program.ts'
import { findChromium } from '../server/headless-chromium.ts'
import type { BrowserKind } from './test-browser.ts'

/**
 * Finds the browser to test with: CHROMIUM_BIN or FIREFOX_BIN, or else `chromium`, `firefox-esr` or `firefox` on
 * PATH, or else undefined. Prints one line when there is none, and throws instead when CI=true.
 */
export function findBrowser(kind: BrowserKind): string | undefined {
  if (kind === 'chromium') return findChromium()
  const found = process.env['FIREFOX_BIN'] || findProgram('firefox-esr') || findProgram('firefox')
  if (!found) skipWithout('no Firefox found: set FIREFOX_BIN or install the apt package `firefox-esr`')
  return found
}
