import { describe } from 'vitest'
import { findBrowser } from '../../support/browsers/find-browser.ts'
import type { BrowserKind } from '../../support/browsers/test-browser.ts'
import { describeEndpoint } from './endpoint.ts'
import { describeReading } from './reading.ts'
import { describeScreens } from './screens.ts'
import { useSharedBrowser } from './shared-browser.ts'
import { describeSignIn } from './sign-in-to-token.ts'

/** Defines all suites for a browser, in an order in which each finds what it needs. Skips a missing one, unless CI=true. */
export function describeEverySuite(kind: BrowserKind): void {
  describe.skipIf(findBrowser(kind) === undefined)('the built extension', () => {
    const shared = useSharedBrowser(kind)
    describeSignIn(shared)
    describeReading(shared)
    describeScreens(shared)
    describeEndpoint(shared)
  })
}
