import type { ConsoleMessage, Page } from 'puppeteer-core'

// What browsers say by themselves: that a server refuses or is not there, which is what some tests are about, and of several
// elements that ask for the focus as they are added.
const ofTheBrowser =
  /^Failed to load resource|^Cross-Origin Request Blocked|^Access to fetch|^Autofocus processing was blocked/

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
  await page.waitForSelector('body[data-ready]')
  return page
}

/** Adds whatever the page says or fails with from now on. */
export function listen(page: Page, complaints: string[]): void {
  page.on('pageerror', (error) => complaints.push(`error: ${String(error)}`))
  page.on('console', (message: ConsoleMessage) => {
    if (!ofTheBrowser.test(message.text())) complaints.push(`${message.type()}: ${message.text()}`)
  })
}
