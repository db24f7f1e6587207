import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'puppeteer-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { type ServerProcess, startServer, until } from '../e2e/server-process.ts'
import { violations } from '../support/browsers/axe.ts'
import { describeBrowsers } from '../support/browsers/describe-browsers.ts'
import { launchBrowser } from '../support/browsers/launch-browser.ts'
import { press, shown, waitForView } from '../support/browsers/popup-page.ts'
import { type SampleSite, startSampleSite } from '../support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../support/browsers/session-sample.ts'
import type { TestBrowser } from '../support/browsers/test-browser.ts'

describeBrowsers('testing a connection that does not work, in %s', (kind) => {
  let server: ServerProcess
  let site: SampleSite
  let browser: TestBrowser

  beforeAll(async () => {
    server = await startServer()
    site = await startSampleSite('app.example')
    browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]) })
    await browser.grant('*.app.example', 'localhost')
    site.add('notes.app.example', { setCookies: setCookies(sessionSample()) })
  })
  afterEach(() => expect(browser.complaints.splice(0)).toEqual([]))
  afterAll(async () => {
    await browser?.close()
    await site?.close()
    await server?.close()
  })

  /** Opens the popup of an app with its MCP server at that address, and tests the connection. */
  async function testAt(baseUrl: string): Promise<Page> {
    const appUrl = 'https://notes.app.example'
    await browser.store({
      version: 1,
      profiles: [{ id: 'notes', label: 'Notes', appUrl, baseUrl, cookieName: undefined }],
    })
    const popup = await browser.openPopupFor(await browser.openTab(`${appUrl}/`))
    await waitForView(popup, 'ready')
    await press(popup, 'test')
    await until(async () => !/^(?:none|running|)$/.test(await resultOf(popup)), 'the result')
    return popup
  }

  function resultOf(popup: Page): Promise<string> {
    return popup.$eval('[data-slot=test-said]', (element) => element.className)
  }

  it('refused: the challenge is shown in the words of the server', async () => {
    const popup = await testAt(server.baseUrl)
    expect(await resultOf(popup)).toBe('refused')
    expect(await shown(popup, 'test-said')).toContain('401')
    expect(await shown(popup, 'test-detail')).toContain('invalid_token')
    expect(await violations(popup)).toEqual([])
  })

  it('no MCP server', async () => {
    const popup = await testAt('https://notes.app.example')
    expect(await resultOf(popup)).toBe('not-mcp')
    expect(await shown(popup, 'test-said')).toContain('404')
  })

  it('no server', async () => {
    const popup = await testAt(`http://localhost:${await freePort()}`)
    expect(await resultOf(popup)).toBe('unreachable')
  })

  it('a site that was not allowed, and lets no other site in: no token is sent there', async () => {
    // The other name of this computer is another site.
    const other = createServer((_request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const baseUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const popup = await testAt(baseUrl)
    expect(await resultOf(popup)).toBe('no-permission')
    expect(await shown(popup, 'test-said')).toContain(new URL(baseUrl).host)
    const sent = browser.requests.filter(({ url }) => url.startsWith(baseUrl))
    expect(sent.filter(({ method, headers }) => method !== 'OPTIONS' || 'authorization' in headers)).toEqual(
      [],
    )
    other.close()
  })
})
