import type { Page } from 'puppeteer-core'
import type { PopupView } from '../../../extension/core/popup/popup-view.ts'
import { waitForPage } from './extension-page.ts'
import type { Tab } from './test-browser.ts'
import { until } from '../until.ts'

/** Waits until the popup shows that screen. */
export async function waitForView(popup: Page, kind: PopupView['kind']): Promise<void> {
  await popup.waitForSelector(`body[data-view="${kind}"]`)
}

/** Returns the popup's current screen. */
export function viewOf(popup: Page): Promise<string | undefined> {
  return popup.$eval('body', (body) => body.dataset['view'])
}

/** Returns the visible text of a slot in the popup's page; empty when it is hidden. */
export function shown(popup: Page, slot: string): Promise<string> {
  return popup.$eval(
    `[data-slot="${slot}"], [data-list="${slot}"]`,
    (element) => (element as HTMLElement).innerText,
  )
}

/** Clicks the button called `name`, with that value if there are several. Brings the page to the front. */
export async function press(popup: Page, name: string, value?: string): Promise<void> {
  await popup.bringToFront()
  const selector = `button[name="${name}"]${value === undefined ? '' : `[value="${value}"]`}`
  const folded = await popup.$(`details:not([open]):has(${selector}) > summary`)
  await folded?.click()
  for (const button of await popup.$$(selector)) {
    if (await button.isVisible()) return button.click()
  }
  throw new Error(`No button ${selector} can be seen.`)
}

/** Copies a format in the popup, and returns the content of the clipboard. */
export async function copied(popup: Page, tab: Tab, format: string = 'token'): Promise<string> {
  await press(popup, 'copy', format)
  await popup.waitForSelector(`button[value="${format}"].copied`)
  return pasted(tab)
}

/** Pastes into a text field of the tab's page, and returns its content. */
export async function pasted(tab: Tab): Promise<string> {
  const { page } = tab
  await page.bringToFront()
  await page.$eval('textarea', (field) => {
    field.value = ''
    field.focus()
  })
  await page.keyboard.down('Control')
  await page.keyboard.press('v')
  await page.keyboard.up('Control')
  return page.$eval('textarea', (field) => field.value)
}

/** Reopens the popup in the same page, which is faster than in another one. */
export async function reopen(popup: Page): Promise<void> {
  await popup.evaluate(() => {
    document.documentElement.dataset['old'] = ''
    location.reload()
  })
  await waitForPage(popup, 'html:not([data-old]) > body[data-ready]')
}

/** Waits until the page has closed itself. Drivers do not always report it. */
export async function untilGone(page: Page): Promise<void> {
  await until(() => page.evaluate(() => false).catch(() => true), 'the page to close')
}
