// Renders every page state in headless Chromium into docs/screenshots/NAME-{light,dark,narrow}.png.
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { pageContentSecurityPolicy } from '../server/http/pages/layout.ts'
import { findChromium, withChromium } from '../server/testing/headless-chromium.ts'
import { pageSamples } from '../server/http/pages/testing/page-sample.ts'
import { servePages } from '../server/http/pages/testing/page-server.ts'
import type { ServedPage } from '../server/http/pages/testing/page-server.ts'

/** States that only tests look at. */
const unpictured = new Set(['login-unbreakable', 'finished-denied'])

/** The pictures: name to page. More pages are more rows. */
const pages: ReadonlyMap<string, ServedPage> = new Map(
  [...pageSamples]
    .filter(([name]) => !unpictured.has(name))
    .map(([name, document]) => [name, { document, contentSecurityPolicy: pageContentSecurityPolicy }]),
)

const appearances = [
  { name: 'light', width: 1280, height: 860, colorScheme: 'light' },
  { name: 'dark', width: 1280, height: 860, colorScheme: 'dark' },
  { name: 'narrow', width: 320, height: 640, colorScheme: 'light' },
] as const

const folder = fileURLToPath(new URL('../docs/screenshots/', import.meta.url))

const chromium = findChromium()
if (chromium !== undefined) {
  mkdirSync(folder, { recursive: true })
  const server = await servePages(pages)
  try {
    await withChromium(chromium, async (browser) => {
      const page = await browser.newPage()
      for (const name of pages.keys()) {
        for (const { name: appearance, width, height, colorScheme } of appearances) {
          await page.setViewport({ width, height, deviceScaleFactor: 1 })
          await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: colorScheme }])
          await page.goto(server.urlOf(name), { waitUntil: 'load' })
          const file = `${name}-${appearance}.png` as const
          await page.screenshot({ path: `${folder}${file}`, fullPage: true })
          console.log(file)
        }
      }
    })
  } finally {
    await server.close()
  }
}
