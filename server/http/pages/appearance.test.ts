// Checks that need a browser: the policy allows the stylesheet, nothing overflows, the keyboard order works, axe finds nothing, and
// when a click counts.
import axe from 'axe-core'
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import {
  findChromium,
  type RunningChromium,
  startChromium,
} from '../../../tests/support/server/headless-chromium.ts'
import { brandSamples } from '../../../tests/support/pages/brand-sample.ts'
import { pageSamples, pagesIn } from '../../../tests/support/pages/page-sample.ts'
import { inEnglish } from '../../../tests/support/pages/view-sample.ts'
import { type PageServer, servePages } from '../../../tests/support/pages/page-server.ts'
import { standInForCaptcha } from '../../../tests/support/pages/stand-in-captcha.ts'

const chromium = findChromium()
const runAxe = `axe.run().then((result) => result.violations.map((violation) =>
  violation.id + ': ' + violation.nodes.map((node) => node.html).join(' ')))`
const findOverflow = `[
  document.documentElement.scrollWidth > innerWidth ? ['the page'] : [],
  Array.from(document.querySelectorAll('main *:not(svg, svg *)'))
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5 || element.getBoundingClientRect().left < -0.5)
    .map((element) => element.outerHTML.slice(0, 80)),
  Array.from(document.querySelectorAll('.connection'))
    .filter((item) => {
      const [name, button] = ['h3', 'summary'].map((part) => item.querySelector(part).getBoundingClientRect())
      return name.right > button.left && name.bottom > button.top && name.top < button.bottom
    })
    .map((item) => 'over its button: ' + item.querySelector('h3').textContent.trim()),
].flat()`
const samples = new Map([...pageSamples, ...brandSamples])
const inBoth = [...pagesIn(inEnglish).keys()]
const names = [...inBoth, ...brandSamples.keys()]

describe.skipIf(chromium === undefined)('pages in Chromium', () => {
  let running: RunningChromium
  let server: PageServer

  beforeAll(async () => {
    server = await servePages(samples)
    running = await startChromium(chromium ?? '')
  })

  afterAll(async () => {
    await running?.close()
    await server?.close()
  })

  async function open(
    name: string,
    { width = 1280, bypassPolicy = false, features = {} }: OpenOptions = {},
  ): Promise<{ page: Page; complaints: string[] }> {
    const page = await running.browser.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await standInForCaptcha(page)
    await page.setBypassCSP(bypassPolicy)
    await page.setViewport({ width, height: 800 })
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: 'light' },
      ...Object.entries(features).map(([name, value]) => ({ name, value })),
    ])
    await page.goto(server.urlOf(name), { waitUntil: 'load' })
    return { page, complaints }
  }

  // Contrast depends neither on the width nor on the language, nor the layout on the colours: two combinations cover all.
  test.each([
    ...inBoth.map((name) => [[name, `de/${name}`]] as const),
    ...[...brandSamples.keys()].map((name) => [[name, name]] as const),
  ])(
    'axe has nothing to say, wide in the light and narrow in the dark, in German nothing overflows: %s',
    async (pages) => {
      const found: unknown[] = []
      for (const [index, name] of pages.entries()) {
        const [value, width] = index === 0 ? (['light', 1280] as const) : (['dark', 320] as const)
        const { page } = await open(name, { bypassPolicy: true })
        await page.setViewport({ width, height: 800 })
        await page.emulateMediaFeatures([
          { name: 'prefers-color-scheme', value },
          { name: 'prefers-reduced-motion', value: 'reduce' }, // no colour is measured mid-transition
        ])
        await page.evaluate(axe.source)
        found.push(await page.evaluate(runAxe), await page.evaluate(findOverflow))
        await page.setViewport({ width: 896, height: 800 })
        found.push(await page.evaluate(findOverflow))
        await page.close()
      }
      expect(found.flat()).toEqual([])
    },
  )

  test.each(names)(
    'is styled and blocks nothing, overflows at no width, and has room for a thumb: %s',
    async (name) => {
      const { page, complaints } = await open(name)
      const font = await page.evaluate(`getComputedStyle(document.querySelector('h1')).fontWeight`)
      const gate = await page.evaluate(`getComputedStyle(document.querySelector('.gate')).backgroundColor`)
      expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([])
      expect([font, gate]).toEqual(['650', 'rgb(16, 48, 45)'])
      const overflow: unknown[] = []
      for (const width of [2560, 1280, 896, 600, 320]) {
        await page.setViewport({ width, height: 800 })
        overflow.push(await page.evaluate(findOverflow))
      }
      expect(overflow).toEqual([[], [], [], [], []])
      // All but links in a sentence; at 320 px by now.
      const small =
        await page.evaluate(`Array.from(document.querySelectorAll('input:not([type=hidden], [type=radio]), .choice, button, a.button, a.alone'))
      .filter((element) => element.getBoundingClientRect().height < 44)
      .map((element) => element.outerHTML)`)
      expect(small).toEqual([])
      await page.close()
    },
  )

  test('the keyboard goes e-mail, password, sign in, social, cancel, create an account, about', async () => {
    const { page } = await open('login')
    const stops: unknown[] = []
    for (let stop = 0; stop < 7; stop += 1) {
      await page.keyboard.press('Tab')
      stops.push(
        await page.evaluate(`document.activeElement.textContent.trim() || document.activeElement.name`),
      )
      expect(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)).toBe('solid')
    }
    await page.close()
    expect(stops).toEqual([
      'email',
      'password',
      'Sign in and allow',
      'Continue with Google and allow',
      'Cancel and deny access',
      'Create one at Example Notes',
      'About claude.ai',
    ])
  })

  test('the keyboard begins at the code and goes confirm, cancel, help, and back to the choice', async () => {
    const { page } = await open('second-factor-several')
    const stop = (): Promise<unknown> =>
      page.evaluate(
        `document.activeElement.textContent.trim() || document.activeElement.value || document.activeElement.name`,
      )
    await expect.poll(stop).toBe('code')
    const stops: unknown[] = []
    for (let count = 0; count < 3; count += 1) {
      await page.keyboard.press('Tab')
      stops.push(await stop())
      expect(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)).toBe('solid')
    }
    expect(stops).toEqual(['Confirm and allow', 'Cancel and deny access', 'Get help at Example Notes'])
    await page.focus('#code')
    await page.keyboard.down('Shift')
    await page.keyboard.press('Tab')
    await page.keyboard.up('Shift')
    expect(await stop()).toBe('factor-1')
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate(`document.querySelector('input[name=factor]:checked').value`)).toBe('factor-2')
    await page.close()
  })

  test('what is no code of six digits does not leave the page, and Enter sends one', async () => {
    const { page } = await open('second-factor')
    const typed = async (code: string): Promise<unknown> => {
      await page.$eval('#code', (input) => {
        ;(input as { value: string }).value = ''
      })
      await page.type('#code', code)
      return page.evaluate(`document.querySelector('#code').checkValidity()`)
    }
    expect(await typed('12345')).toBe(false)
    expect(await typed('letter')).toBe(false)
    expect(await typed('123 456')).toBe(true)
    const [posted] = await Promise.all([
      page.waitForRequest((request) => request.method() === 'POST'),
      page.keyboard.press('Enter'),
    ])
    expect(new URLSearchParams(posted.postData() ?? '').get('code')).toBe('123 456')
    await page.close()
  })

  test('after a failed attempt the password has the focus', async () => {
    const { page } = await open('login-error')
    await expect.poll(() => page.evaluate(`document.activeElement.name`)).toBe('password')
    await page.close()
  })

  test.each(['light', 'dark'])(
    'the colour of the app is that of the button and the focus, in %s',
    async (mode) => {
      const { page } = await open('brand-login', { features: { 'prefers-color-scheme': mode } })
      const colours = await page.evaluate(`(() => {
      const button = document.querySelector('.primary')
      document.querySelector('#email').focus()
      return [
        getComputedStyle(document.activeElement).outlineColor,
        getComputedStyle(button).backgroundColor,
        getComputedStyle(button).color,
        getComputedStyle(document.querySelector('.court .link')).color,
      ]
    })()`)
      await page.close()
      const [accent, text] =
        mode === 'light'
          ? ['rgb(109, 40, 217)', 'rgb(255, 255, 255)']
          : ['rgb(196, 181, 253)', 'rgb(0, 0, 0)']
      expect(colours).toEqual([accent, accent, text, accent])
    },
  )

  test('a logo with a version for dark pages keeps the one for its white plate', async () => {
    const { page } = await open('brand-login')
    const pictureOf = async (value: string): Promise<string> => {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
      return page.screenshot({ clip: { x: 160, y: 44, width: 28, height: 24 }, encoding: 'base64' })
    }
    expect(await pictureOf('dark')).toBe(await pictureOf('light'))
    await page.close()
  })

  test('a wide logo leaves room for the name, and both fit', async () => {
    const { page } = await open('brand-login-unbreakable', { width: 320 })
    const [logo, name] = (await page.evaluate(
      `['.logo', '.logo + bdi'].map((part) => document.querySelector(part).getBoundingClientRect().toJSON())`,
    )) as { width: number; height: number; bottom: number; top: number }[]
    await page.close()
    expect([logo?.width, logo?.height]).toEqual([160, 40])
    expect(name?.width).toBeGreaterThan(128)
  })

  test('nothing moves for those who asked for less motion', async () => {
    const { page } = await open('login', { features: { 'prefers-reduced-motion': 'reduce' } })
    const moving = await page.evaluate(
      `Array.from(document.querySelectorAll('*')).filter((element) => getComputedStyle(element).transitionDuration !== '0s').length`,
    )
    await page.close()
    expect(moving).toBe(0)
  })
})

interface OpenOptions {
  width?: number
  bypassPolicy?: boolean
  features?: Readonly<Record<string, string>>
}

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

  /** Opens a login page that counts presses of its social button. */
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
