import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'puppeteer-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../support/server/free-port.ts'
import type { ServerProcess } from '../../e2e/server-process.ts'
import { copied, press, reopen, shown, viewOf } from '../../support/browsers/popup-page.ts'
import type { SampleSite } from '../../support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../../support/browsers/session-sample.ts'
import type { SharedBrowser } from './shared-browser.ts'
import type { Tab, TestBrowser } from '../../support/browsers/test-browser.ts'
import { until } from '../../support/until.ts'

/** Replaces the settings. */
export function describeEndpoint(shared: SharedBrowser): void {
  describe(`the MCP server of a web app in ${shared.kind}`, () => {
    const session = sessionSample()
    let server: ServerProcess
    let site: SampleSite
    let browser: TestBrowser
    let tab: Tab
    let popup: Page
    /** What has left the browser in this suite. */
    let requests: () => TestBrowser['requests']

    beforeAll(async () => {
      ;({ server, site, browser } = shared.opened())
      await browser.grant('*.app.example', 'localhost')
      const earlier = browser.requests.length
      requests = () => browser.requests.slice(earlier)
      tab = await browser.openTab('https://empty.app.example/')
      popup = await browser.openPopupFor(tab)
    })
    afterEach(() => expect(browser.complaints.splice(0)).toEqual([]))

    /** Goes to an app with `head`, and opens the popup over it. */
    async function openAt(app: string, head: string = ''): Promise<void> {
      const host = `${app}.app.example`
      site.add(host, { setCookies: setCookies(session), head })
      await tab.page.goto(`https://${host}/`)
      await reopen(popup)
      expect(await viewOf(popup)).toBe('ready')
    }

    const isSeen = (selector: string): Promise<boolean> =>
      popup.$$eval(selector, (all) => all.some((each) => each.checkVisibility()))

    /** Tests the connection, and returns the kind of the result. */
    async function test(): Promise<string> {
      const result = (): Promise<string> =>
        popup.$eval('[data-slot=test-said]', (element) => element.className)
      await press(popup, 'test')
      await until(async () => !/^(?:none|running|)$/.test(await result()), 'the result')
      return result()
    }

    /** Tests the connection of an app whose MCP server was set to that address. */
    async function testAt(baseUrl: string): Promise<string> {
      const appUrl = 'https://notes.app.example'
      await browser.store({
        version: 1,
        profiles: [{ id: 'notes', label: 'Notes', appUrl, baseUrl, cookieName: undefined }],
      })
      await openAt('notes')
      return test()
    }

    it('a server announced on another host is named with a warning, and nothing is sent or stored', async () => {
      await openAt('named', '<link rel="mcp-server" href="https://evil.app.example/mcp">')
      expect(await shown(popup, 'announced-server')).toBe('evil.app.example/mcp')
      expect(await shown(popup, 'announced-elsewhere')).toContain('another host')
      for (const name of ['test', 'open-client']) expect(await isSeen(`[name=${name}]`)).toBe(false)
      expect(requests().filter(({ url }) => url.includes('evil.app.example'))).toEqual([])
      expect(await browser.stored()).not.toContain('evil.app.example')
    })

    it('a server announced with a relative address is made absolute; one announced in the body is not shown', async () => {
      await openAt('own', '<link rel="MCP-Server" href="/api/mcp">')
      expect(await shown(popup, 'announced-server')).toBe('own.app.example/api/mcp')
      expect(await shown(popup, 'announced-here')).not.toBe('')
      await openAt('body', '</head><body><link rel="mcp-server" href="https://mcp.app.example/mcp">')
      expect(await isSeen('[name=use-server]')).toBe(false)
      expect(await isSeen('[data-slot=no-server]')).toBe(true)
    })

    it('an announced server is used after one click for curl, entries, one-click links and the test, and later announcements do not count', async () => {
      await openAt('used', `<link rel="mcp-server" href="${server.mcpUrl}">`)
      expect(requests().filter(({ url }) => url.startsWith(server.baseUrl))).toEqual([])
      await press(popup, 'use-server')
      await until(async () => (await shown(popup, 'server')) !== '', 'the server')
      expect(await isSeen('[name=use-server]')).toBe(false)
      expect(await copied(popup, tab, 'curl')).toContain(`curl '${server.mcpUrl}'`)
      expect(await copied(popup, tab, 'config-claude-code')).toContain(server.mcpUrl)
      // The session is unknown: the server itself says so, in its own words.
      expect(await test()).toBe('refused')
      expect(await shown(popup, 'test-said')).toContain('401')
      expect(await shown(popup, 'test-detail')).toContain('invalid_token')
      expect(await browser.stored()).toContain(server.baseUrl)

      await openAt('used', '<link rel="mcp-server" href="https://evil.app.example/mcp">')
      expect(await shown(popup, 'server')).toBe(server.mcpUrl.replace('http://', ''))
      expect(await isSeen('[name=use-server]')).toBe(false)
    })

    it('a client is opened in a tab of its own, which leaves the app alone', async () => {
      await openAt('used')
      // Without permission for the new tab's address, only its id is known.
      const tabs = (): Promise<{ id: number; active: boolean }[]> =>
        popup.evaluate(() => {
          const { chrome } = globalThis as unknown as {
            chrome: { tabs: { query(query: object): Promise<{ id: number; active: boolean }[]> } }
          }
          return chrome.tabs.query({})
        })
      const before = new Set((await tabs()).map(({ id }) => id))
      await press(popup, 'open-client', 'cursor')
      await until(async () => (await tabs()).some(({ id, active }) => active && !before.has(id)), 'the tab')
      expect(tab.page.url()).toBe('https://used.app.example/')
    })

    it('a server that does not answer is reported as unreachable', async () => {
      expect(await testAt(`http://localhost:${await freePort()}`)).toBe('unreachable')
    })

    it('no token is sent to a site that was not allowed, and lets no other site in', async () => {
      // The other name of this computer is another site.
      const other = createServer((_request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1')
      await once(other, 'listening')
      const baseUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
      expect(await testAt(baseUrl)).toBe('no-permission')
      expect(await shown(popup, 'test-said')).toContain(new URL(baseUrl).host)
      const sent = requests().filter(({ url }) => url.startsWith(baseUrl))
      expect(
        sent.filter(({ method, headers }) => method !== 'OPTIONS' || 'authorization' in headers),
      ).toEqual([])
      other.close()
    })
  })
}
