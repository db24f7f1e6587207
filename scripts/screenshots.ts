// Takes screenshots of every page of the server in every state, and of the demo app, in headless Chromium:
// screenshots/NAME-{light,dark,narrow}.png, in German below screenshots/de.
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Page } from 'puppeteer-core'
import { startServer } from '../tests/e2e/server-process.ts'
import { brandSamples } from '../tests/support/pages/brand-sample.ts'
import { pageSamples } from '../tests/support/pages/page-sample.ts'
import { servePages } from '../tests/support/pages/page-server.ts'
import { standInForCaptcha } from '../tests/support/pages/stand-in-captcha.ts'
import { findChromium, withChromium } from '../tests/support/server/headless-chromium.ts'
import { replacePictures, settle } from './pictures/picture-set.ts'

const appearances = [
  { name: 'light', width: 1280, height: 860, colorScheme: 'light' },
  { name: 'dark', width: 1280, height: 860, colorScheme: 'dark' },
  { name: 'narrow', width: 320, height: 640, colorScheme: 'light' },
] as const

const account = { email: 'ada@example.com', password: 'correct horse battery' }

/** Takes a screenshot of `page` as it is, into `folder`. */
async function picture(page: Page, folder: string, name: string): Promise<void> {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  for (const { name: appearance, width, height, colorScheme } of appearances) {
    await page.setViewport({ width, height, deviceScaleFactor: 1 })
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: colorScheme }])
    if (await page.$('iframe')) {
      // A widget picks its colours when it loads, and is not painted until it has been visible.
      await page.reload()
      await page.$eval('iframe', (frame) => frame.scrollIntoView())
    }
    await settle(page)
    await page.screenshot({ path: join(folder, `${name}-${appearance}.png`), fullPage: true })
  }
  console.log(name)
}

async function picturePages(page: Page, folder: string): Promise<void> {
  const samples = new Map([...pageSamples, ...brandSamples])
  const server = await servePages(samples)
  try {
    await standInForCaptcha(page)
    for (const name of samples.keys()) {
      await page.goto(server.urlOf(name))
      await picture(page, folder, name)
    }
  } finally {
    await server.close()
  }
}

async function pictureDemoApp(page: Page, folder: string, appUrl: string): Promise<void> {
  const submit = (form: string): Promise<unknown> =>
    Promise.all([page.waitForNavigation(), page.click(`form[action="${form}"] button`)])
  await page.goto(appUrl)
  await picture(page, folder, 'app-sign-in')
  await submit('/sign-in/google')
  await picture(page, folder, 'app-google')
  await page.goto(`${appUrl}/sign-up`)
  await picture(page, folder, 'app-sign-up')
  await page.type('input[name=email]', account.email)
  await page.type('input[name=password]', account.password)
  await submit('/sign-up')
  for (const text of ['The third arch needs a second look.', 'Ask the assistant to summarise last week.']) {
    await page.type('textarea[name=text]', text)
    await submit('/notes')
  }
  await page.goto(`${appUrl}/notes`)
  await picture(page, folder, 'app-notes')
  await fetch(`${appUrl}/auth/v1/otp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: account.email, create_user: false }),
  })
  await page.goto(`${appUrl}/mail`)
  await picture(page, folder, 'app-mail')
}

const chromium = findChromium()
if (chromium === undefined) {
  process.exitCode = 1
} else {
  const server = await startServer()
  try {
    await replacePictures('', (folder) =>
      withChromium(chromium, async (browser) => {
        await pictureDemoApp(await browser.newPage(), folder, server.appUrl)
        await picturePages(await browser.newPage(), folder)
      }),
    )
  } finally {
    await server.close()
  }
}
