import { describe } from 'vitest'
import { findBrowser } from './find-browser.ts'
import { browserKinds } from './launch-browser.ts'
import type { BrowserKind } from './test-browser.ts'

/** A suite for each browser; `%s` in its title is which. Skipped for one that is not there, unless CI=true. */
export function describeBrowsers(title: string, suite: (kind: BrowserKind) => void): void {
  for (const kind of browserKinds) {
    describe.skipIf(findBrowser(kind) === undefined)(title.replace('%s', kind), () => suite(kind))
  }
}
