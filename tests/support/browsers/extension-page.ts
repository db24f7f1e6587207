import type { ConsoleMessage, Page } from 'puppeteer-core'
import { until } from '../until.ts'

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
