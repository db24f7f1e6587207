import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findBrowser } from '../support/browsers/find-browser.ts'
import { launchBrowser } from '../support/browsers/launch-browser.ts'
import { type SampleSite, startSampleSite } from '../support/browsers/sample-site.ts'
import { sessionSample, setCookies } from '../support/browsers/session-sample.ts'
import type { RealPopup, TestBrowser } from '../support/browsers/test-browser.ts'
import {
  hasVirtualDisplay,
  startVirtualDisplay,
  type VirtualDisplay,
} from '../support/browsers/virtual-display.ts'

const isPossible = findBrowser('chromium') !== undefined && hasVirtualDisplay()

// Other tests grant the permission beforehand; here Chromium really prompts, and closes the popup.
describe.skipIf(!isPossible)('the question that Chromium asks', () => {
  let display: VirtualDisplay
  let site: SampleSite
  let browser: TestBrowser

  beforeAll(async () => {
    display = await startVirtualDisplay()
    site = await startSampleSite('app.example')
    const hosts = new Map([['*.app.example', site.port]])
    browser = await launchBrowser('chromium', { hosts, display: display.name })
  })
  afterAll(async () => {
    await browser?.close()
    await site?.close()
    await display?.close()
  })

  it('the prompt of Chromium is answered with no, then with yes: the popup is back by itself and shows the session', async () => {
    const session = sessionSample()
    site.add('closed.app.example', { setCookies: setCookies(session, { attributes: 'HttpOnly; Secure' }) })
    const tab = await browser.openTab('https://closed.app.example/')

    await ask(await browser.clickToolbar(tab))
    // The focus is on No.
    await display.press('Return')
    const again = await browser.clickToolbar(tab)
    expect(await again.read((popup) => popup.document.body.dataset['view'])).toBe('no-permission')

    const reopened = browser.nextPopup()
    await ask(again)
    await display.press('Tab')
    await delay(400)
    await display.press('Return')
    const popup = await reopened
    expect(await popup.read(({ document }) => document.body.dataset['view'])).toBe('ready')
    expect(await popup.read(({ document }) => document.body.innerText)).toContain('ada@example.com')
  })

  /** Clicks the button that prompts. The prompt closes the popup, so the click may never be answered. */
  async function ask(popup: RealPopup): Promise<void> {
    void popup.click('button[name=allow]').catch(() => undefined)
    const isOpen = (): Promise<boolean> => popup.read(() => true).catch(() => false)
    await expect.poll(isOpen).toBe(false)
    // The prompt ignores keys for half a second, as they may have been meant for something else.
    await delay(1000)
  }
})
