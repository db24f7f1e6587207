// Renders every page state in headless Chromium into docs/screenshots/NAME-{light,dark,narrow}.png.
import { mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'puppeteer-core'
import { createApp } from '../server/app.ts'
import { createConfig } from '../server/config.ts'
import { listen } from '../server/http/listener.ts'
import { pageContentSecurityPolicy } from '../server/http/pages/layout.ts'
import { pageSamples } from '../server/http/pages/testing/page-sample.ts'
import { servePages } from '../server/http/pages/testing/page-server.ts'
import { createLog } from '../server/log.ts'
import { systemRuntime } from '../server/system-runtime.ts'
import { findChromium, withChromium } from '../server/testing/headless-chromium.ts'

/** States that only tests look at. */
const unpictured = new Set(['login-unbreakable', 'finished-denied'])

const appearances = [
  { name: 'light', width: 1280, height: 860, colorScheme: 'light' },
  { name: 'dark', width: 1280, height: 860, colorScheme: 'dark' },
  { name: 'narrow', width: 320, height: 640, colorScheme: 'light' },
] as const

const folder = fileURLToPath(new URL('../docs/screenshots/', import.meta.url))

/** Pictures what `page` shows, as it is. */
async function picture(page: Page, name: string): Promise<void> {
  for (const { name: appearance, width, height, colorScheme } of appearances) {
    await page.setViewport({ width, height, deviceScaleFactor: 1 })
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: colorScheme }])
    // Changing the colour scheme starts transitions of every colour.
    await page.evaluate('Promise.all(document.getAnimations().map((animation) => animation.finished))')
    await page.screenshot({ path: `${folder}${name}-${appearance}.png`, fullPage: true })
  }
  console.log(name)
}

/** The pages of the authorization server, each state from its view model. */
async function pictureServerPages(page: Page): Promise<void> {
  const served = new Map(
    [...pageSamples].map(([name, document]) => [
      name,
      { document, contentSecurityPolicy: pageContentSecurityPolicy },
    ]),
  )
  const server = await servePages(served)
  for (const name of served.keys()) {
    if (unpictured.has(name)) continue
    await page.goto(server.urlOf(name), { waitUntil: 'load' })
    await picture(page, name)
  }
  await server.close()
}

/** The pages of the demo web app and the stand-in Google, as a person walks through them. */
async function pictureWebApp(page: Page): Promise<void> {
  const appUrl = 'http://localhost:8788'
  const config = createConfig({ store: 'memory:', appUrl }, { production: false })
  const app = createApp(config, systemRuntime, createLog('silent', process.stderr))
  const listener = await listen(app.embedded?.fetch ?? app.fetch, { host: '127.0.0.1', port: 8788 })
  const submit = (selector: string): Promise<unknown> =>
    Promise.all([page.waitForNavigation(), page.click(selector)])

  await page.goto(appUrl)
  await picture(page, 'app-sign-in')
  await submit('form[action="/sign-in/google"] button')
  await picture(page, 'app-google')
  await page.goto(`${appUrl}/sign-up`)
  await picture(page, 'app-sign-up')
  await page.type('input[name=email]', 'ada@example.com')
  await page.type('input[name=password]', 'correct horse battery')
  await submit('form[action="/sign-up"] button')
  for (const text of ['The third arch needs a second look.', 'Ask the assistant to summarise last week.']) {
    await page.type('textarea[name=text]', text)
    await submit('form[action="/notes"] button')
  }
  await page.goto(`${appUrl}/notes`)
  await picture(page, 'app-notes')
  await listener.close()
  await app.close()
}

const chromium = findChromium()
if (chromium === undefined) {
  process.exitCode = 1
} else {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await withChromium(chromium, async (browser) => {
    await pictureServerPages(await browser.newPage())
    await pictureWebApp(await browser.newPage())
  })
}
