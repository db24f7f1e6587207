// Pictures every screen of the built extension: docs/screenshots/extension/{chromium,firefox}/NAME-{light,dark}.png, and
// from Chromium NAME-narrow.png (320 pixels) and NAME-de.png.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'puppeteer-core'
import { settingsSamples } from '../extension/ui/testing/settings-samples.ts'
import { viewSamples } from '../extension/ui/testing/view-samples.ts'
import { browserKinds, launchBrowser } from '../tests/extension/testing/launch-browser.ts'
import { openPopupStage, openSettingsStage } from '../tests/extension/testing/stage.ts'
import type { TestBrowser } from '../tests/extension/testing/test-browser.ts'

// The browsers' clocks and numbers are those of this process.
process.env['TZ'] = 'UTC'

/** The moment that the pictures show, so that they do not change by themselves. */
const now = Date.UTC(2026, 8, 21, 13, 46, 40) / 1000

/** The popup at its largest, as browsers let it be. */
const popupSize = { width: 360, height: 600 }

const appearances = [
  { name: 'light', colorScheme: 'light', language: 'en', isNarrow: false },
  { name: 'dark', colorScheme: 'dark', language: 'en', isNarrow: false },
  { name: 'narrow', colorScheme: 'light', language: 'en', isNarrow: true },
  { name: 'de', colorScheme: 'light', language: 'de', isNarrow: false },
] as const

const narrow = { width: 320, height: 640 }

async function pictureAll(browser: TestBrowser, folder: string): Promise<void> {
  for (const { name, colorScheme, language, isNarrow } of appearances) {
    if ((isNarrow || language !== 'en') && browser.kind !== 'chromium') continue
    const popup = await openPopupStage(browser, language)
    await browser.prefer(popup.page, colorScheme)
    await popup.page.setViewport(isNarrow ? narrow : popupSize)
    const samples = viewSamples(now)
    for (const [view, sample] of Object.entries(samples)) {
      await popup.show(sample, now)
      await picture(popup.page, join(folder, `${view}-${name}.png`))
    }
    for (const part of ['formats', 'claims']) {
      await popup.show(samples['ready'] ?? { kind: 'loading' }, now)
      await unfold(popup.page, part)
      await picture(popup.page, join(folder, `ready-${part}-${name}.png`))
    }
    await popup.page.close()

    const settings = await openSettingsStage(browser, language)
    await browser.prefer(settings.page, colorScheme)
    await settings.page.setViewport(isNarrow ? narrow : { width: 1000, height: 720 })
    for (const [view, sample] of Object.entries(settingsSamples)) {
      await settings.show(sample)
      await picture(settings.page, join(folder, `settings-${view}-${name}.png`))
    }
    await settings.page.close()
  }
}

/** Pictures the page when everything has come to rest. */
async function picture(page: Page, path: string): Promise<void> {
  await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))')
  await page.screenshot({ path })
}

/** Opens that part of the popup and no other. */
async function unfold(page: Page, part: string): Promise<void> {
  await page.evaluate((part) => {
    for (const details of document.querySelectorAll('details')) {
      details.open = details.classList.contains(part)
      if (details.open) details.scrollIntoView()
    }
  }, part)
}

const folder = mkdtempSync(join(tmpdir(), 'drawbridge-screenshots-'))
try {
  for (const kind of browserKinds) {
    const browser = await launchBrowser(kind)
    try {
      mkdirSync(join(folder, kind))
      await pictureAll(browser, join(folder, kind))
    } finally {
      await browser.close()
    }
    console.log(kind)
  }
  // Only a complete set takes the place of the old one.
  const target = fileURLToPath(new URL('../docs/screenshots/extension/', import.meta.url))
  rmSync(target, { recursive: true, force: true })
  cpSync(folder, target, { recursive: true })
} finally {
  rmSync(folder, { recursive: true, force: true })
}
