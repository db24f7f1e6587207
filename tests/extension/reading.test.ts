import type { Page } from 'puppeteer-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { describeBrowsers } from '../support/browsers/describe-browsers.ts'
import { launchBrowser } from '../support/browsers/launch-browser.ts'
import { copied, press, shown, untilGone, viewOf, waitForView } from '../support/browsers/popup-page.ts'
import { type SampleSite, startSampleSite } from '../support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../support/browsers/session-sample.ts'
import type { TestBrowser } from '../support/browsers/test-browser.ts'

/** Clicks the session of that account. */
async function choose(popup: Page, account: string): Promise<void> {
  await popup.bringToFront()
  for (const button of await popup.$$('button[name=choose]')) {
    const text = await button.evaluate((element) => element.textContent)
    if (text.includes(account)) return button.click()
  }
  throw new Error(`There is no session of ${account}.`)
}

const secret = { attributes: 'HttpOnly; Secure' }

describeBrowsers('sessions as %s keeps them', (kind) => {
  let site: SampleSite
  let browser: TestBrowser

  beforeAll(async () => {
    site = await startSampleSite('app.example')
    browser = await launchBrowser(kind, { hosts: new Map([['*.app.example', site.port]]) })
    await browser.grant('*.app.example')
  })
  afterEach(() => expect(browser.complaints.splice(0)).toEqual([]))
  afterAll(async () => {
    await browser?.close()
    await site?.close()
  })

  it('twelve chunks that the page cannot see: the very token is copied', async () => {
    const session = sessionSample({ metadata: { about: 'y'.repeat(26_000) } })
    const cookies = setCookies(session, secret)
    expect(cookies.length).toBe(12)
    site.add('chunks.app.example', { setCookies: cookies })
    const tab = await browser.openTab('https://chunks.app.example/')
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'ready')
    expect(await tab.page.evaluate(() => document.cookie)).toBe('')
    expect(await shown(popup, 'title')).toBe('ada@example.com')
    expect(await shown(popup, 'timer')).toMatch(/^(?:1:00:00|59:\d\d)$/)
    expect(await copied(popup, tab)).toBe(session.access_token)
  })

  it('Escape closes the popup', async () => {
    const popup = await browser.openPopupFor(await browser.openTab('https://empty.app.example/'))
    await popup.bringToFront()
    await popup.keyboard.press('a')
    expect(await viewOf(popup)).toBe('signed-out')
    // The page may be gone before the driver learns of the key.
    await popup.keyboard.press('Escape').catch(() => undefined)
    await untilGone(popup)
  })

  it('a partitioned cookie', async () => {
    const session = sessionSample({ email: 'part@example.com' })
    site.add('partitioned.app.example', {
      setCookies: setCookies(session, { attributes: 'HttpOnly; Secure; Partitioned' }),
    })
    const tab = await browser.openTab('https://partitioned.app.example/')
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'ready')
    expect(await shown(popup, 'title')).toBe('part@example.com')
    expect(await copied(popup, tab)).toBe(session.access_token)
  })

  it('a session in local storage, of an app without cookies', async () => {
    const session = sessionSample({ email: 'local@example.com', metadata: { name: '100 % Ådå' } })
    const entry = JSON.stringify(['sb-abcdefghijklmnopqrst-auth-token', JSON.stringify(session)])
    site.add('local.app.example', { script: `localStorage.setItem(...${entry})` })
    const tab = await browser.openTab('https://local.app.example/')
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'ready')
    expect(await shown(popup, 'title')).toBe('local@example.com')
    expect(await copied(popup, tab)).toBe(session.access_token)
  })

  it('several projects: one is chosen, and the way back leads to the others', async () => {
    const one = sessionSample({ email: 'one@example.com' })
    const two = sessionSample({ email: 'two@example.com' })
    site.add('several.app.example', {
      setCookies: [
        ...setCookies(one, { ...secret, name: 'sb-one-auth-token' }),
        ...setCookies(two, { ...secret, name: 'sb-two-auth-token' }),
      ],
    })
    const tab = await browser.openTab('https://several.app.example/')
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'several')
    expect(await shown(popup, 'sessions')).toMatch(/one@example\.com[^]*two@example\.com/)
    await choose(popup, 'two@example.com')
    await waitForView(popup, 'ready')
    expect(await copied(popup, tab)).toBe(two.access_token)
    await press(popup, 'show-all')
    await waitForView(popup, 'several')
    await choose(popup, 'one@example.com')
    await waitForView(popup, 'ready')
    expect(await copied(popup, tab)).toBe(one.access_token)
  })

  it('an expired token: the tab is reloaded, the app renews it, and the popup continues by itself', async () => {
    const renewed = sessionSample()
    site.add(
      'expired.app.example',
      { setCookies: setCookies(sessionSample({ seconds: -60 }), secret) },
      { setCookies: setCookies(renewed, secret) },
    )
    const tab = await browser.openTab('https://expired.app.example/')
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'expired')
    await press(popup, 'reload')
    await waitForView(popup, 'ready')
    expect(await copied(popup, tab)).toBe(renewed.access_token)
  })

  it('a token that ends while the popup is open', async () => {
    site.add('ending.app.example', { setCookies: setCookies(sessionSample({ seconds: 4 }), secret) })
    const tab = await browser.openTab('https://ending.app.example/')
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'ready')
    expect(await shown(popup, 'ends-soon')).not.toBe('')
    await waitForView(popup, 'expired')
  })

  it('a part that is missing', async () => {
    const cookies = setCookies(sessionSample({ metadata: { about: 'y'.repeat(9000) } }), secret)
    site.add('incomplete.app.example', { setCookies: cookies.filter((cookie) => !/token\.1=/.test(cookie)) })
    const popup = await browser.openPopupFor(await browser.openTab('https://incomplete.app.example/'))
    await waitForView(popup, 'incomplete')
  })

  it('something else under the name of a session', async () => {
    site.add('corrupt.app.example', {
      setCookies: ['sb-abcdefghijklmnopqrst-auth-token=base64-bm90IGpzb24; Path=/; Secure'],
    })
    const popup = await browser.openPopupFor(await browser.openTab('https://corrupt.app.example/'))
    await waitForView(popup, 'corrupt')
  })

  it('signing in and out while the popup is open', async () => {
    const cookies = setCookies(sessionSample(), secret)
    const removed = cookies.map((cookie) => cookie.replace(/=[^;]*/, '=; Max-Age=0'))
    site.add('life.app.example', {}, { setCookies: cookies }, { setCookies: removed })
    const tab = await browser.openTab('https://life.app.example/')
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'signed-out')
    await tab.page.reload()
    await waitForView(popup, 'ready')
    await tab.page.reload()
    await waitForView(popup, 'signed-out')
  })

  it('cookies of a private window or a container are those of its tab, and no others', async () => {
    const usual = sessionSample({ email: 'usual@example.com' })
    const separate = sessionSample({ email: 'separate@example.com' })
    site.add(
      'apart.app.example',
      { setCookies: setCookies(usual, secret) },
      { setCookies: setCookies(separate, secret) },
    )
    const tab = await browser.openTab('https://apart.app.example/')
    const other = await browser.openSeparateTab('https://apart.app.example/')
    const popup = await browser.openPopupFor(tab)
    await waitForView(popup, 'ready')
    expect(await shown(popup, 'title')).toBe('usual@example.com')
    const otherPopup = await browser.openPopupFor(other)
    await waitForView(otherPopup, 'ready')
    expect(await shown(otherPopup, 'title')).toBe('separate@example.com')
    expect(await copied(otherPopup, other)).toBe(separate.access_token)
  })
})
