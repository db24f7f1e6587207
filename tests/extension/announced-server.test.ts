import type { Page } from 'puppeteer-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { type ServerProcess, startServer, until } from '../e2e/server-process.ts'
import { violations } from '../support/browsers/axe.ts'
import { describeBrowsers } from '../support/browsers/describe-browsers.ts'
import { launchBrowser } from '../support/browsers/launch-browser.ts'
import { copied, press, shown, waitForView } from '../support/browsers/popup-page.ts'
import { type SampleSite, startSampleSite } from '../support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../support/browsers/session-sample.ts'
import type { Tab, TestBrowser } from '../support/browsers/test-browser.ts'

describeBrowsers('an MCP server that a web app announces, in %s', (kind) => {
  const session = sessionSample()
  let server: ServerProcess
  let site: SampleSite
  let browser: TestBrowser

  beforeAll(async () => {
    server = await startServer()
    site = await startSampleSite('app.example')
    browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]) })
    await browser.grant('*.app.example', 'localhost')
  })
  afterEach(() => expect(browser.complaints.splice(0)).toEqual([]))
  afterAll(async () => {
    await browser?.close()
    await site?.close()
    await server?.close()
  })

  /** Opens a tab of an app with `head`, and the popup over it. */
  async function openAt(name: string, head: string): Promise<{ tab: Tab; popup: Page }> {
    const host = `${name}.app.example`
    site.add(host, { setCookies: setCookies(session), head })
    const tab = await browser.openTab(`https://${host}/`)
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'ready')
    return { tab, popup }
  }

  const isSeen = (popup: Page, selector: string): Promise<boolean> =>
    popup.$eval(selector, (element) => element.checkVisibility())

  it('on another host: named with a warning, and nothing is sent or stored', async () => {
    const head = '<link rel="mcp-server" href="https://evil.app.example/mcp">'
    const { popup } = await openAt('notes', head)
    expect(await shown(popup, 'announced-server')).toBe('evil.app.example/mcp')
    expect(await shown(popup, 'announced-elsewhere')).toContain('another host')
    expect(await violations(popup)).toEqual([])
    for (const name of ['test', 'open-client'])
      expect(await popup.$$eval(`[name=${name}]`, (all) => all.some((each) => each.checkVisibility()))).toBe(
        false,
      )
    expect(browser.requests.filter(({ url }) => url.includes('evil.app.example'))).toEqual([])
    expect(await browser.stored()).not.toContain('evil.app.example')
    await popup.close()
  })

  it('relative, on the host of the app: made absolute', async () => {
    const { popup } = await openAt('own', '<link rel="MCP-Server" href="/api/mcp">')
    expect(await shown(popup, 'announced-server')).toBe('own.app.example/api/mcp')
    expect(await shown(popup, 'announced-here')).not.toBe('')
    await popup.close()
  })

  it.each([
    ['http to another computer', '<link rel="mcp-server" href="http://mcp.app.example/mcp">'],
    ['credentials', '<link rel="mcp-server" href="https://app.example@evil.app.example/mcp">'],
    ['no address', '<link rel="mcp-server" href="javascript:alert(1)">'],
    ['in the body', '</head><body><link rel="mcp-server" href="https://mcp.app.example/mcp">'],
  ])('%s: not shown', async (_case, head) => {
    const { popup } = await openAt('faulty', head)
    expect(await isSeen(popup, '[name=use-server]')).toBe(false)
    expect(await isSeen(popup, '[data-slot=no-server]')).toBe(true)
    await popup.close()
  })

  it('used by one click: curl, entries, one-click links and the test know it, and later announcements do not count', async () => {
    const { tab, popup } = await openAt('used', `<link rel="mcp-server" href="${server.mcpUrl}">`)
    expect(browser.requests.filter(({ url }) => url.startsWith(server.baseUrl))).toEqual([])
    await press(popup, 'use-server')
    await until(async () => (await shown(popup, 'server')) !== '', 'the server')
    expect(await isSeen(popup, '[name=use-server]')).toBe(false)
    expect(await violations(popup)).toEqual([])
    expect(await copied(popup, tab, 'curl')).toContain(`curl '${server.mcpUrl}'`)
    expect(await copied(popup, tab, 'config-claude-code')).toContain(server.mcpUrl)
    await press(popup, 'test')
    const result = (): Promise<string> => popup.$eval('[data-slot=test-said]', (element) => element.className)
    await until(async () => !/^(?:none|running|)$/.test(await result()), 'the result')
    // The session is unknown: the server itself says so.
    expect(await result()).toBe('refused')
    expect(await browser.stored()).toContain(server.baseUrl)
    await popup.close()

    const again = await openAt('used', '<link rel="mcp-server" href="https://evil.app.example/mcp">')
    expect(await shown(again.popup, 'server')).toBe(server.mcpUrl.replace('http://', ''))
    expect(await isSeen(again.popup, '[name=use-server]')).toBe(false)
    await again.popup.close()
  })

  it('a client is opened in a tab of its own, which leaves the app alone', async () => {
    const { tab, popup } = await openAt('used', '')
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
    await popup.close()
  })
})
