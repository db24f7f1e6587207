import { describe } from 'vitest'
import { findBrowser } from './find-browser.ts'
import { browserKinds } from './launch-browser.ts'
import type { BrowserKind } from './test-browser.ts'

/** Defines a suite for each browser, named by `%s` in its title. Skips missing browsers, unless CI=true. */
export function describeBrowsers(title: string, suite: (kind: BrowserKind) => void): void {
  for (const kind of browserKinds) {
    describe.skipIf(findBrowser(kind) === undefined)(title.replace('%s', kind), () => suite(kind))
  }
}
