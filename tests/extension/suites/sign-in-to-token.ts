import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'puppeteer-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPerson, type Person } from '../../e2e/person.ts'
import { postMcp } from '../../e2e/plain-client.ts'
import type { ServerProcess } from '../../e2e/server-process.ts'
import {
  copied,
  pasted,
  press,
  reopen,
  shown,
  untilGone,
  waitForView,
} from '../../support/browsers/popup-page.ts'
import { filesWith } from '../../support/browsers/profile-search.ts'
import type { SharedBrowser } from './shared-browser.ts'
import type { RealPopup, Tab, TestBrowser } from '../../support/browsers/test-browser.ts'
import { until } from '../../support/until.ts'

const run = promisify(execFile)

/** The browser is new. */
export function describeSignIn(shared: SharedBrowser): void {
  describe(`from a sign-in to a token in ${shared.kind}`, () => {
    let server: ServerProcess
    let person: Person
    let browser: TestBrowser
    let tab: Tab
    let token: string
    /** The popup as a page, which stays open. */
    let popup: Page

    beforeAll(async () => {
      ;({ server, browser } = shared.opened())
      person = await createPerson(server)
    })

    const view = (popup: RealPopup): Promise<string | undefined> =>
      popup.read(({ document }) => document.body.dataset['view'])

    it('two clicks, the icon and Copy, copy the token without a question', async () => {
      tab = await browser.openTab(server.appUrl)
      await tab.page.type('input[name=email]', person.email)
      await tab.page.type('input[name=password]', person.password)
      await Promise.all([tab.page.waitForNavigation(), tab.page.click('form[action="/sign-in"] button')])

      const popup = await browser.clickToolbar(tab)
      expect(await view(popup)).toBe('ready')
      expect(await popup.read(({ document }) => document.body.innerText)).toContain(person.email)
      const focused = await popup.read(
        ({ document: { activeElement } }) => (activeElement as HTMLButtonElement).name,
      )
      expect(focused).toBe('copy')
      await popup.click('button[name=copy]')
      await until(
        () => popup.read(({ document }) => document.querySelector('button.copied') !== null),
        'the word that it was copied',
      )
      token = await pasted(tab)
      const listed = await postMcp(server, { method: 'tools/list' }, { authorization: `Bearer ${token}` })
      expect(await listed.text()).toContain('list_notes')
      expect(await browser.stored()).not.toContain('profiles')
      // The browser has asked the person for nothing so far.
      expect(await browser.allowed()).toEqual([])
    })

    it('the server that the app announces is named, and can be saved in the settings', async () => {
      popup = await browser.openPopupFor(tab)
      await waitForView(popup, 'ready')
      expect(await shown(popup, 'announced-server')).toBe(server.mcpUrl.replace('http://', ''))
      const opened = browser.nextSettings()
      await press(popup, 'settings')
      const settings = await opened
      expect(await settings.$eval('#appUrl', (field) => (field as HTMLInputElement).value)).toBe(
        server.appUrl,
      )
      await settings.type('#baseUrl', server.mcpUrl)
      await settings.click('button[type=submit]')
      await until(async () => (await shown(settings, 'profiles')).includes(server.baseUrl), 'the profile')
      await settings.close()
      await reopen(popup)
    })

    it('the popup works by keyboard alone: Enter copies, and Tab reaches everything', async () => {
      await popup.bringToFront()
      await popup.keyboard.press('Enter')
      await popup.waitForSelector('button[value=token].copied')
      expect(await pasted(tab)).toBe(token)

      await popup.bringToFront()
      // Starts at the first control: before it, and after the last, keys go to the browser.
      await popup.evaluate(() => document.querySelector('button')?.focus())
      await popup.keyboard.press('Tab')
      await popup.keyboard.down('Shift')
      await popup.keyboard.press('Tab')
      await popup.keyboard.up('Shift')
      const reached = new Set([await popup.evaluate(focused)])
      for (let count = 0; count < 30; count++) {
        await popup.keyboard.press('Tab')
        reached.add(await popup.evaluate(focused))
        // Expands a closed section.
        if (await popup.evaluate(() => document.activeElement?.matches('details:not([open]) > summary'))) {
          await popup.keyboard.press('Enter')
        }
      }
      const all = await popup.evaluate(() =>
        [...document.querySelectorAll('button, summary')]
          .filter((element) => element.checkVisibility())
          .map((element) => element.textContent.trim() || element.ariaLabel || ''),
      )
      expect([...reached]).toEqual(expect.arrayContaining(all))
      expect(all.length).toBeGreaterThan(8)
      expect([...reached].filter((name) => name.includes('cannot be seen'))).toEqual([])
    })

    it('the curl line runs as it is and lists the tools', async () => {
      const line = await copied(popup, tab, 'curl')
      const { stdout } = await run('sh', ['-c', line], { env: { PATH: process.env['PATH'], NO_PROXY: '*' } })
      expect(stdout).toContain('"list_notes"')
      expect(await copied(popup, tab, 'header')).toBe(`Authorization: Bearer ${token}`)
      expect(await copied(popup, tab, 'config-cursor')).not.toContain(token)
    })

    it('on Windows the popup copies lines for PowerShell', async () => {
      const own = await popup.evaluate(() => navigator.userAgent)
      const seeAs = async (userAgent: string): Promise<void> => {
        await popup.setUserAgent({ userAgent })
        await reopen(popup)
        await waitForView(popup, 'ready')
      }
      await seeAs(own.replace(/\(.*?\)/, '(Windows NT 10.0; Win64; x64)'))
      expect(await copied(popup, tab, 'curl')).toContain(`| curl.exe '${server.mcpUrl}' \``)
      expect(await copied(popup, tab, 'environment')).toBe(`$env:DRAWBRIDGE_TOKEN = '${token}'`)
      await seeAs(own)
      expect(await copied(popup, tab, 'environment')).toBe(`export DRAWBRIDGE_TOKEN='${token}'`)
    })

    it('the connection test asks for the site once, then shows its tools', async () => {
      await press(popup, 'test')
      await until(async () => (await testOf(popup)) !== 'running', 'the answer')
      if ((await testOf(popup)) === 'no-permission') await allowTest(browser, popup)
      await until(async () => (await testOf(popup)) === 'passed', 'the tools')
      expect(await shown(popup, 'tools')).toContain('list_notes')
    })

    it('the popup says so when the user signs out in the app', async () => {
      // Without it, a cookie hidden from the page would be undetectable.
      await browser.grant('localhost')
      await tab.page.bringToFront()
      await Promise.all([tab.page.waitForNavigation(), tab.page.click('form[action="/sign-out"] button')])
      await waitForView(popup, 'signed-out')
    })

    it('the token is on the clipboard and at the MCP server, and nowhere else', async () => {
      const withToken = browser.requests.filter((request) => JSON.stringify(request).includes(token))
      expect(withToken.length).toBeGreaterThan(0)
      for (const { method, url, headers, body } of withToken) {
        expect(`${method} ${url}`).toBe(`POST ${server.mcpUrl}`)
        expect(headers['authorization']).toBe(`Bearer ${token}`)
        expect(headers['cookie']).toBeUndefined()
        expect(headers['referer']).toBeUndefined()
        expect(body).not.toContain(token)
      }
      expect(await browser.stored()).not.toContain(token.slice(-40))
      expect(filesWith(browser.profile, token.slice(-40))).toEqual([])
      expect(browser.complaints).toEqual([])
    })
  })
}

/** Runs in the page: returns the name of the focused element, and whether its focus is visible. */
function focused(): string {
  const element = document.activeElement
  if (element === null || element === document.body) return ''
  const { outlineStyle, boxShadow } = getComputedStyle(element)
  const name = element.textContent.trim() || element.ariaLabel || ''
  return outlineStyle === 'none' && boxShadow === 'none' ? `${name} cannot be seen` : name
}

/** Returns the kind of the test's result. */
function testOf(popup: Page): Promise<string> {
  return popup.$eval('[data-slot=test-said]', (element) => element.className)
}

/** Allows the test: in Firefox on the settings page, which then closes. */
async function allowTest(browser: TestBrowser, popup: Page): Promise<void> {
  await browser.answerYes('localhost')
  if (browser.kind === 'chromium') {
    await press(popup, 'allow-test')
    return
  }
  const opened = browser.nextSettings()
  await press(popup, 'allow-test')
  const settings = await opened
  await press(settings, 'allow-asked')
  await untilGone(settings)
  await press(popup, 'test')
}
