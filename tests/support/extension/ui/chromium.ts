import type { Page } from 'puppeteer-core'
import { startChromium } from '../../server/headless-chromium.ts'

/** Opens a headless Chromium with an empty profile and one page of a popup's size. The caller closes it. */
export async function openChromium(executablePath: string): Promise<{ page: Page; close(): Promise<void> }> {
  const { browser, close } = await startChromium(executablePath)
  const page = await browser.newPage()
  await page.setViewport({ width: 360, height: 600 })
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
  return { page, close }
}
