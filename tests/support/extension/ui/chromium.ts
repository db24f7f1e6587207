import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { launch, type Page } from 'puppeteer-core'

/** Path of the Chromium to test with: CHROMIUM_BIN, or else `chromium` on PATH. Throws without one when CI=true. */
export function findChromium(): string | undefined {
  const { CHROMIUM_BIN, PATH = '', CI } = process.env
  const candidates = [CHROMIUM_BIN ?? '', ...PATH.split(delimiter).map((folder) => join(folder, 'chromium'))]
  const found = candidates.find((path) => path !== '' && isExecutable(path))
  if (found === undefined && CI === 'true') {
    throw new Error('no Chromium found: set CHROMIUM_BIN or install the apt package `chromium`')
  }
  return found
}

/** Opens a headless Chromium with an empty profile and one page of a popup's size. The caller closes it. */
export async function openChromium(executablePath: string): Promise<{ page: Page; close(): Promise<void> }> {
  const userDataDir = mkdtempSync(join(tmpdir(), 'drawbridge-extension-'))
  const args = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']
  const browser = await launch({ executablePath, userDataDir, headless: true, args })
  const page = await browser.newPage()
  await page.setViewport({ width: 360, height: 600 })
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
  return {
    page,
    async close() {
      await browser.close()
      rmSync(userDataDir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
