import type { Page } from 'puppeteer-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  copied,
  press,
  reopen,
  shown,
  untilGone,
  viewOf,
  waitForView,
} from '../../support/browsers/popup-page.ts'
import type { SampleAnswer, SampleSite } from '../../support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../../support/browsers/session-sample.ts'
import type { SharedBrowser } from './shared-browser.ts'
import type { RealPopup, Tab, TestBrowser } from '../../support/browsers/test-browser.ts'
import { until } from '../../support/until.ts'

const secret = { attributes: 'HttpOnly; Secure' }
const usualName = 'sb-abcdefghijklmnopqrst-auth-token'

/** Returns cookies with that value unchanged. */
function raw(value: string): string[] {
  const chunks = value.match(/.{1,3180}/g) ?? []
  if (chunks.length === 1) return [`${usualName}=${value}; Path=/`]
  return chunks.map((chunk, index) => `${usualName}.${index}=${chunk}; Path=/`)
}

/** The extension may read nothing of app.example yet. */
export function describeReading(shared: SharedBrowser): void {
  describe(`sessions as ${shared.kind} keeps them`, () => {
    const { kind } = shared
    let site: SampleSite
    let browser: TestBrowser

    beforeAll(() => void ({ site, browser } = shared.opened()))
    afterEach(() => expect(browser.complaints.splice(0)).toEqual([]))

    describe('before a permission was given', () => {
      const view = (popup: RealPopup): Promise<string | undefined> =>
        popup.read(({ document }) => document.body.dataset['view'])

      it('cookies that the page does not see need one question, then the token is there', async () => {
        site.add('closed.app.example', { setCookies: setCookies(sessionSample(), secret) })
        await browser.answerYes('closed.app.example')
        const tab = await browser.openTab('https://closed.app.example/')
        const popup = await browser.clickToolbar(tab)
        expect(await view(popup)).toBe('no-permission')
        expect(await popup.read(({ document }) => document.body.innerText)).toContain('closed.app.example')

        if (kind === 'chromium') {
          await popup.click('button[name=allow]')
          await until(async () => (await view(popup)) === 'ready', 'the session')
        } else {
          // Firefox would draw its prompt below the popup, so a page prompts and returns to the tab.
          const opened = browser.nextSettings()
          await popup.click('button[name=allow]')
          const settings = await opened
          expect(await shown(settings, 'title')).toContain('closed.app.example')
          await press(settings, 'allow-asked')
          await untilGone(settings)
          expect(await view(await browser.clickToolbar(tab))).toBe('ready')
        }
      })

      it('a page without permission is a tab without an app until the icon is clicked; the popup fits', async () => {
        site.add('other.app.example', { setCookies: setCookies(sessionSample()) })
        const tab = await browser.openTab('https://other.app.example/')
        const popup = await browser.openPopupFor(tab)
        expect(await popup.$eval('body', (body) => body.dataset['view'])).toBe('no-web-page')
        const clicked = await browser.clickToolbar(tab)
        expect(await view(clicked)).toBe('ready')
        const size = await clicked.read(({ innerWidth, innerHeight, document }) => ({
          innerWidth,
          innerHeight,
          excess: document.documentElement.scrollWidth - innerWidth,
          language: document.documentElement.lang,
        }))
        expect(size.innerWidth).toBeLessThanOrEqual(800)
        expect(size.innerHeight).toBeLessThanOrEqual(600)
        expect(size.excess).toBe(0)
        expect(size.language).toBe('en')
      })
    })

    describe('with permission', () => {
      let tab: Tab
      let popup: Page

      beforeAll(async () => {
        await browser.grant('*.app.example')
        tab = await browser.openTab('https://empty.app.example/')
        popup = await browser.openPopupFor(tab)
      })

      /** Goes to an app that answers so, and opens the popup over it. */
      async function open(app: string, ...answers: SampleAnswer[]): Promise<void> {
        const host = `${app}.app.example`
        site.add(host, ...answers)
        await tab.page.goto(`https://${host}/`)
        await reopen(popup)
      }

      it('twelve chunks that the page cannot see: the very token is copied', async () => {
        const session = sessionSample({ metadata: { about: 'y'.repeat(26_000) } })
        const cookies = setCookies(session, secret)
        expect(cookies.length).toBe(12)
        await open('chunks', { setCookies: cookies })
        expect(await viewOf(popup)).toBe('ready')
        expect(await tab.page.evaluate(() => document.cookie)).toBe('')
        expect(await shown(popup, 'title')).toBe('ada@example.com')
        expect(await shown(popup, 'timer')).toMatch(/^(?:1:00:00|59:\d\d)$/)
        expect(await copied(popup, tab)).toBe(session.access_token)
      })

      it('a partitioned cookie is read', async () => {
        const session = sessionSample({ email: 'part@example.com' })
        const partitioned = { attributes: 'HttpOnly; Secure; Partitioned' }
        await open('partitioned', { setCookies: setCookies(session, partitioned) })
        expect(await shown(popup, 'title')).toBe('part@example.com')
      })

      it('a session in local storage, of an app without cookies', async () => {
        const session = sessionSample({ email: 'local@example.com', metadata: { name: '100 % Ådå' } })
        const entry = JSON.stringify([usualName, JSON.stringify(session)])
        await open('local', { script: `localStorage.setItem(...${entry})` })
        expect(await shown(popup, 'title')).toBe('local@example.com')
      })

      it('an expired token is renewed: the tab is reloaded, the app renews it, and the popup continues by itself', async () => {
        const renewed = sessionSample({ email: 'renewed@example.com' })
        await open(
          'expired',
          { setCookies: setCookies(sessionSample({ seconds: -60 }), secret) },
          { setCookies: setCookies(renewed, secret) },
        )
        expect(await viewOf(popup)).toBe('expired')
        await press(popup, 'reload')
        await waitForView(popup, 'ready')
        expect(await shown(popup, 'title')).toBe('renewed@example.com')
      })

      it('the popup follows signing in and out while it is open', async () => {
        const cookies = setCookies(sessionSample(), secret)
        const removed = cookies.map((cookie) => cookie.replace(/=[^;]*/, '=; Max-Age=0'))
        await open('life', {}, { setCookies: cookies }, { setCookies: removed })
        expect(await viewOf(popup)).toBe('signed-out')
        await tab.page.reload()
        await waitForView(popup, 'ready')
        await tab.page.reload()
        await waitForView(popup, 'signed-out')
      })

      // The logic has tests of its own: this is about the browser's cookies and its JavaScript.
      it.each([
        ['lists', `base64-${Buffer.from('['.repeat(30_000) + ']'.repeat(30_000)).toString('base64url')}`],
        ['bytes', '\u00ff\u00e9'],
      ])('an unreadable cookie is reported: %s', async (app, value) => {
        await open(app, { setCookies: raw(value) })
        expect(await viewOf(popup)).toBe('corrupt')
      })

      it('Escape closes the popup', async () => {
        await popup.bringToFront()
        await popup.keyboard.press('a')
        expect(await viewOf(popup)).toBeDefined()
        // The page may be gone before the driver learns of the key.
        await popup.keyboard.press('Escape').catch(() => undefined)
        await untilGone(popup)
      })

      it('cookies of a private window or a container are those of its tab, and no others', async () => {
        const usual = sessionSample({ email: 'usual@example.com' })
        const separate = sessionSample({ email: 'separate@example.com' })
        site.add(
          'apart.app.example',
          { setCookies: setCookies(usual, secret) },
          { setCookies: setCookies(separate, secret) },
        )
        await tab.page.goto('https://apart.app.example/')
        const other = await browser.openSeparateTab('https://apart.app.example/')
        const usualPopup = await browser.openPopupFor(tab)
        await waitForView(usualPopup, 'ready')
        expect(await shown(usualPopup, 'title')).toBe('usual@example.com')
        const otherPopup = await browser.openPopupFor(other)
        await waitForView(otherPopup, 'ready')
        expect(await shown(otherPopup, 'title')).toBe('separate@example.com')
        expect(await copied(otherPopup, other)).toBe(separate.access_token)
      })
    })
  })
}
