import type { ConsoleMessage, Page } from 'puppeteer-core'
import { until } from '../until.ts'
import type { ExtensionApi, Tab, TestBrowser } from './test-browser.ts'

declare const chrome: ExtensionApi

// Messages of the browser itself about a refusing or missing server, which some tests provoke.
const ofTheBrowser = /^Failed to load resource|^Cross-Origin Request Blocked|^Access to fetch/

/** Opens a new page: among the others, or in a separate window. */
export interface PageOpener {
  newPage(): Promise<Page>
}

/**
 * Opens a page of the extension and waits until it shows something. Adds its console output and errors to
 * `complaints`.
 */
export async function openExtensionPage(
  opener: PageOpener,
  url: string,
  complaints: string[],
): Promise<Page> {
  const page = await opener.newPage()
  listen(page, complaints)
  // In Firefox this never settles, and the page claims to be about:blank.
  page.goto(url).catch(() => undefined)
  await waitForPage(page, 'body[data-ready]')
  return page
}

/** Waits for an element of a loading page. Queries may fail during a navigation. */
export async function waitForPage(page: Page, selector: string): Promise<void> {
  await until(
    () => page.evaluate((selector) => document.querySelector(selector) !== null, selector).catch(() => false),
    `the page with ${selector}`,
  )
}

/** Waits until the page has applied the requested colour scheme. */
export async function waitForColors(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await until(
    () => page.evaluate((query) => matchMedia(query).matches, `(prefers-color-scheme: ${colorScheme})`),
    `${colorScheme} colours`,
  )
  // Colours in transition belong to neither scheme.
  await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))')
}

/** Adds all further console output and errors of the page. */
export function listen(page: Page, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(`error: ${String(error)}`))
  page.on('console', (message: ConsoleMessage) => {
    if (!ofTheBrowser.test(message.text())) complaints.push(`${message.type()}: ${message.text()}`)
  })
}

/** Opens a tab with a web page; `within` is a page of the extension that may see it. */
export async function openTabIn(within: Page, opener: PageOpener, url: string): Promise<Tab> {
  const tabIds = async (): Promise<number[]> =>
    within.evaluate(async () => (await chrome.tabs.query({})).map((tab) => tab.id))
  const before = await tabIds()
  const page = await opener.newPage()
  const id = (await tabIds()).find((tab) => !before.includes(tab)) ?? -1
  await page.goto(url)
  return { page, id }
}

/** Returns what tests ask of the extension itself, inside one of its pages. */
export function extensionState(
  helper: () => Promise<Page>,
): Pick<TestBrowser, 'allowed' | 'stored' | 'store'> {
  return {
    async allowed() {
      const within = await helper()
      return within.evaluate(async () => (await chrome.permissions.getAll()).origins)
    },
    async stored() {
      const within = await helper()
      return within.evaluate(async () => {
        const { local, session, sync } = chrome.storage
        return JSON.stringify([await local.get(null), await session.get(null), await sync.get(null)])
      })
    },
    async store(settings) {
      const within = await helper()
      await within.evaluate((settings) => chrome.storage.local.set({ settings }), settings)
    },
  }
}
