// Takes screenshots of every screen of the built extension:
// screenshots/extension/{chromium,firefox}-NAME-{light,dark}.webp, and from Chromium also NAME-narrow.webp (320
// pixels) and NAME-de.webp.
import { join } from 'node:path'
import type { Page } from 'puppeteer-core'
import { settingsSamples } from '../tests/support/extension/ui/settings-samples.ts'
import { viewSamples } from '../tests/support/extension/ui/view-samples.ts'
import { browsersAtHand, launchBrowser } from '../tests/support/browsers/launch-browser.ts'
import { openPopupStage, openSettingsStage } from '../tests/support/browsers/stage.ts'
import type { TestBrowser } from '../tests/support/browsers/test-browser.ts'
import { replacePictures, settle } from './pictures/picture-set.ts'

// The browsers inherit time zone and number format from this process.
process.env['TZ'] = 'UTC'

/** The time shown in the screenshots, fixed so that they do not change. */
const now = Date.UTC(2026, 8, 21, 13, 46, 40) / 1000

/** Larger than a popup can be: the screenshots show its own size. */
const popupSize = { width: 360, height: 800 }

const appearances = [
  { name: 'light', colorScheme: 'light', language: 'en', isNarrow: false },
  { name: 'dark', colorScheme: 'dark', language: 'en', isNarrow: false },
  { name: 'narrow', colorScheme: 'light', language: 'en', isNarrow: true },
  { name: 'de', colorScheme: 'light', language: 'de', isNarrow: false },
] as const

const narrow = { width: 320, height: 800 }

async function pictureAll(browser: TestBrowser, folder: string): Promise<void> {
  for (const { name, colorScheme, language, isNarrow } of appearances) {
    if ((isNarrow || language !== 'en') && browser.kind !== 'chromium') continue
    const popup = await openPopupStage(browser, language)
    await browser.prefer(popup.page, colorScheme)
    await popup.page.setViewport(isNarrow ? narrow : popupSize)
    const samples = viewSamples(now)
    for (const [view, sample] of Object.entries(samples)) {
      await popup.show(sample, now)
      await picture(popup.page, join(folder, `${browser.kind}-${view}-${name}.webp`), 'body')
    }
    for (const part of ['formats', 'claims']) {
      await popup.show(samples['ready'] ?? { kind: 'loading' }, now)
      await unfold(popup.page, part)
      await picture(popup.page, join(folder, `${browser.kind}-ready-${part}-${name}.webp`), 'body')
    }
    await popup.page.close()

    const settings = await openSettingsStage(browser, language)
    await browser.prefer(settings.page, colorScheme)
    await settings.page.setViewport(isNarrow ? narrow : { width: 1000, height: 720 })
    for (const [view, sample] of Object.entries(settingsSamples)) {
      await settings.show(sample)
      await picture(settings.page, join(folder, `${browser.kind}-settings-${view}-${name}.webp`), 'html')
    }
    await settings.page.close()
  }
}

/** Takes a screenshot of the visible part of an element. */
async function picture(page: Page, path: string, selector: 'body' | 'html'): Promise<void> {
  await settle(page)
  const size = await page.$eval(selector, (element) => {
    const { width, height } = element.getBoundingClientRect()
    return { width, height: Math.min(height, innerHeight) }
  })
  // A third of the size of PNG, with no visible difference.
  await page.screenshot({ path, type: 'webp', quality: 85, clip: { x: 0, y: 0, ...size } })
}

/** Opens only that part of the popup. */
async function unfold(page: Page, part: string): Promise<void> {
  await page.evaluate((part) => {
    for (const details of document.querySelectorAll('details')) {
      details.open = details.classList.contains(part)
      if (details.open) details.scrollIntoView()
    }
  }, part)
}

await replacePictures('extension', async (folder) => {
  // A browser that is missing is named, and the others are pictured.
  for (const kind of browsersAtHand()) {
    const browser = await launchBrowser(kind)
    try {
      await pictureAll(browser, folder)
    } finally {
      await browser.close()
    }
    console.log(kind)
  }
})
