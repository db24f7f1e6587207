// What only a browser can tell: when a click counts.
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  findChromium,
  type RunningChromium,
  startChromium,
} from '../../../tests/support/server/headless-chromium.ts'
import { pageSamples } from '../../../tests/support/pages/page-sample.ts'
import { type PageServer, servePages } from '../../../tests/support/pages/page-server.ts'

const chromium = findChromium()
const social = 'button[name=provider]'

describe.skipIf(chromium === undefined)('a page that allows by one click, in Chromium', () => {
  let running: RunningChromium
  let server: PageServer

  beforeAll(async () => {
    server = await servePages(pageSamples)
    running = await startChromium(chromium ?? '', 'mouse')
  })
  afterAll(async () => {
    await running?.close()
    await server?.close()
  })

  /** A login page that counts how often its social button was pressed. */
  async function open(): Promise<{ page: Page; presses: () => Promise<unknown> }> {
    const page = await running.browser.newPage()
    await page.goto(server.urlOf('login'))
    await page.evaluate(`window.presses = 0
      document.querySelector('${social}').addEventListener('click', (event) => {
        event.preventDefault()
        window.presses += 1
      })`)
    return { page, presses: () => page.evaluate('window.presses') }
  }

  it('takes no click of a mouse that has just come: it may be the second one of a double click elsewhere', async () => {
    const { page, presses } = await open()
    await page.click(social)
    expect(await presses()).toBe(0)
    await page.evaluate('Promise.all(document.getAnimations().map((animation) => animation.finished))')
    await page.click(social)
    expect(await presses()).toBe(1)
    await page.close()
  })

  it('takes the keyboard at once', async () => {
    const { page, presses } = await open()
    await page.focus(social)
    await page.keyboard.press('Enter')
    expect(await presses()).toBe(1)
    await page.close()
  })
})
