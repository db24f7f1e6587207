import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { until } from '../e2e/server-process.ts'
import { describeBrowsers } from '../support/browsers/describe-browsers.ts'
import { launchBrowser } from '../support/browsers/launch-browser.ts'
import { press, shown, untilGone } from '../support/browsers/popup-page.ts'
import { type SampleSite, startSampleSite } from '../support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../support/browsers/session-sample.ts'
import type { RealPopup, TestBrowser } from '../support/browsers/test-browser.ts'

const secret = { attributes: 'HttpOnly; Secure' }

describeBrowsers('permission for a site in %s', (kind) => {
  let site: SampleSite
  let browser: TestBrowser

  beforeAll(async () => {
    site = await startSampleSite('app.example')
    browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]) })
  })
  afterEach(() => expect(browser.complaints.splice(0)).toEqual([]))
  afterAll(async () => {
    await browser?.close()
    await site?.close()
  })

  const view = (popup: RealPopup): Promise<string | undefined> =>
    popup.read(({ document }) => document.body.dataset['view'])

  it('cookies that the page does not see: one question, then the token is there', async () => {
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
    await until(async () => (await browser.badge(tab)) !== '', 'the badge')
    expect(await browser.badge(tab)).toMatch(/^(?:59|60)$/)
  })

  it('a page without permission is a tab without an app until the icon is clicked', async () => {
    site.add('other.app.example', { setCookies: setCookies(sessionSample()) })
    const tab = await browser.openTab('https://other.app.example/')
    const popup = await browser.openPopupFor(tab)
    expect(await popup.$eval('body', (body) => body.dataset['view'])).toBe('no-web-page')
    expect(await browser.badge(tab)).toBe('')
    expect(await view(await browser.clickToolbar(tab))).toBe('ready')
  })

  it('a page of the browser', async () => {
    const tab = await browser.openTab('about:blank')
    expect(await view(await browser.clickToolbar(tab))).toBe('no-web-page')
  })

  it('the popup fits, and what is shown is in the language of the browser', async () => {
    const tab = await browser.openTab('https://other.app.example/')
    const popup = await browser.clickToolbar(tab)
    const size = await popup.read(({ innerWidth, innerHeight, document }) => ({
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
