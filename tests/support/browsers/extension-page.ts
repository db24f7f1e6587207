import type { ConsoleMessage, Page } from 'puppeteer-core'
import { until } from '../../e2e/server-process.ts'

// What browsers say by themselves: that a server refuses or is not there, which is what some tests are about.
const ofTheBrowser = /^Failed to load resource|^Cross-Origin Request Blocked|^Access to fetch/

/** Where a new page is to be: with the others, or in a window apart. */
export interface PageOpener {
  newPage(): Promise<Page>
}

/**
 * Opens a page of the extension and waits until it shows anything. What it writes to its console, and what it fails with,
 * is added to `complaints`.
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

/** Waits for an element of a page that is on its way. Looking may fail while one page gives way to another. */
export async function waitForPage(page: Page, selector: string): Promise<void> {
  await until(
    () => page.evaluate((selector) => document.querySelector(selector) !== null, selector).catch(() => false),
    `the page with ${selector}`,
  )
}

/** Waits until the page has taken on the colours that it was told to. */
export async function waitForColors(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await until(
    () => page.evaluate((query) => matchMedia(query).matches, `(prefers-color-scheme: ${colorScheme})`),
    `${colorScheme} colours`,
  )
  // Colours that fade into others are neither.
  await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))')
}

/** Adds whatever the page says or fails with from now on. */
export function listen(page: Page, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(`error: ${String(error)}`))
  page.on('console', (message: ConsoleMessage) => {
    if (!ofTheBrowser.test(message.text())) complaints.push(`${message.type()}: ${message.text()}`)
  })
}
