import { afterAll, beforeAll } from 'vitest'
import { type ServerProcess, startServer } from '../../e2e/server-process.ts'
import { launchBrowser } from '../../support/browsers/launch-browser.ts'
import { type SampleSite, startSampleSite } from '../../support/browsers/sample-site.ts'
import type { BrowserKind, TestBrowser } from '../../support/browsers/test-browser.ts'

/** One browser for several suites, as its start takes longer than most of their tests. */
export interface SharedBrowser {
  kind: BrowserKind
  /** For hooks and tests. */
  opened(): Opened
}

interface Opened {
  browser: TestBrowser
  server: ServerProcess
  /** At every name below app.example. */
  site: SampleSite
}

/** Starts it before the suites of the surrounding one, and closes it after them. */
export function useSharedBrowser(kind: BrowserKind): SharedBrowser {
  let browser: TestBrowser | undefined
  let server: ServerProcess | undefined
  let site: SampleSite | undefined
  beforeAll(async () => {
    server = await startServer()
    site = await startSampleSite('app.example')
    browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]) })
  })
  afterAll(async () => {
    await browser?.close()
    await site?.close()
    await server?.close()
  })
  return {
    kind,
    opened() {
      if (!browser || !server || !site) throw new Error('The browser was not started.')
      return { browser, server, site }
    },
  }
}
