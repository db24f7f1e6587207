// Checks that need a browser: the policy allows the stylesheet, nothing overflows, the keyboard order works, axe finds nothing, and
// when a click counts.
import { readFileSync } from 'node:fs'
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from 'vitest'
import {
  findChromium,
  type RunningChromium,
  startChromium,
} from '../../../tests/support/server/headless-chromium.ts'
import { brandSamples } from '../../../tests/support/pages/brand-sample.ts'
import { pageSamples, pagesIn } from '../../../tests/support/pages/page-sample.ts'
import { inEnglish, inGerman } from '../../../tests/support/pages/view-sample.ts'
import { type PageServer, servePages } from '../../../tests/support/pages/page-server.ts'
import { standInForCaptcha } from '../../../tests/support/pages/stand-in-captcha.ts'

const chromium = findChromium()
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
const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
/** The rules of axe that depend on the colours or on the width. */
const viewRules = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size']
// No colour is measured mid-transition.
const still = { 'prefers-reduced-motion': 'reduce' }
const samples = new Map([...pageSamples, ...brandSamples])
const german = pagesIn(inGerman)

/** The tags of a document. Text only for screen readers or scripts becomes a number, equal for equal texts. */
function markupOf(document: string): string {
  const known: string[] = []
  const numberOf = (text: string): number => {
    if (!known.includes(text)) known.push(text)
    return known.indexOf(text)
  }
  return document
    .replaceAll(/(<(script|style)\b[^>]*>)[^]*?<\/\2>/g, '$1')
    .replace('<html lang="de"', '<html lang="en"')
    .replaceAll(
      / (aria-label|title|alt|placeholder|data-[a-z]+)="([^"]+)"/g,
      (_, name, text) => ` ${name}=${numberOf(text)}`,
    )
    .replaceAll(/(<(\w+)\b[^>]*)>\s*<\/\2>/g, '$1 EMPTY></$2>')
    .replaceAll(/>[^<]*/g, '>\n')
}

// So that in German axe would say the same.
test.each([...pagesIn(inEnglish)])(
  'the page has the same markup in German and English: %s',
  (name, { document }) => {
    const translated = german.get(name)?.document ?? ''
    expect(translated).toContain('<html lang="de"')
    expect(markupOf(translated)).toBe(markupOf(document))
  },
)

describe.skipIf(chromium === undefined)('pages in Chromium', () => {
  let running: RunningChromium
  let server: PageServer
  /** For all that is only looked at: a new one costs more than looking. */
  let shared: Page
  let captchas: Page
  const complaints: string[] = []

  beforeAll(async () => {
    server = await servePages(samples)
    running = await startChromium(chromium ?? '')
    ;[shared, captchas] = [await running.browser.newPage(), await running.browser.newPage()]
    for (const page of [shared, captchas]) page.on('console', (message) => complaints.push(message.text()))
    await standInForCaptcha(captchas)
  })

  afterAll(async () => {
    await running?.close()
    await server?.close()
  })

  const prefer = (page: Page, features: Readonly<Record<string, string>>): Promise<void> =>
    page.emulateMediaFeatures(Object.entries(features).map(([name, value]) => ({ name, value })))

  /** Opens a page without any earlier input. */
  async function open(
    name: string,
    { width = 1280, features = {} }: { width?: number; features?: Readonly<Record<string, string>> } = {},
  ): Promise<Page> {
    const page = await running.browser.newPage()
    await page.setViewport({ width, height: 800 })
    await prefer(page, { 'prefers-color-scheme': 'light', ...features })
    await page.goto(server.urlOf(name), { waitUntil: 'load' })
    onTestFinished(() => page.close())
    return page
  }

  async function overflowAt(page: Page, widths: readonly number[]): Promise<unknown> {
    const found: unknown[] = []
    for (const width of widths) {
      await page.setViewport({ width, height: 800 })
      found.push(await page.evaluate(findOverflow))
    }
    return found.flat()
  }

  /** Returns the violations that axe finds. */
  async function violations(page: Page, runOnly?: readonly string[]): Promise<unknown> {
    if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe)
    return page.evaluate(`axe.run(${JSON.stringify({ resultTypes: ['violations'], runOnly })}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
  }

  test.each([...pagesIn(inEnglish), ...brandSamples])(
    'a page in Chromium is styled and blocks nothing, overflows at no width, has room for a thumb, and axe finds no fault in the light and in the dark: %s',
    async (name, { document }) => {
      const page = document.includes('class="captcha"') ? captchas : shared
      complaints.length = 0
      await prefer(page, { 'prefers-color-scheme': 'light', ...still })
      await page.setViewport({ width: 1280, height: 800 })
      await page.goto(server.urlOf(name), { waitUntil: 'load' })
      const font = await page.evaluate(`getComputedStyle(document.querySelector('h1')).fontWeight`)
      const gate = String(
        await page.evaluate(`getComputedStyle(document.querySelector('.gate')).backgroundColor`),
      )
      const theme = /name="theme-color"\s+content="(#[\da-f]{6})"/.exec(document)?.[1] ?? ''
      const hex = [...gate.matchAll(/\d+/g)].map(([part]) => Number(part).toString(16).padStart(2, '0'))
      expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([])
      expect([font, `#${hex.join('')}`]).toEqual(['650', name.startsWith('brand-') ? theme : '#10302d'])
      expect(await violations(page)).toEqual([])
      expect(await overflowAt(page, [2560, 1280, 896, 600, 320])).toEqual([])
      // All but links in a sentence; at 320 px by now.
      const small =
        await page.evaluate(`Array.from(document.querySelectorAll('input:not([type=hidden], [type=radio], [type=checkbox]), .choice, button, a.button, a.alone'))
      .filter((element) => element.getBoundingClientRect().height < 44)
      .map((element) => element.outerHTML)`)
      expect(small).toEqual([])
      await prefer(page, { 'prefers-color-scheme': 'dark', ...still })
      expect(await violations(page, viewRules)).toEqual([])
      const translated = german.get(name)
      if (translated) {
        await page.setContent(translated.document)
        expect(await overflowAt(page, [320, 896])).toEqual([])
      }
    },
  )

  test('Tab on the login page goes email, password, sign in, social, cancel, create an account, about', async () => {
    const page = await open('login')
    const stops: unknown[] = []
    for (let stop = 0; stop < 7; stop += 1) {
      await page.keyboard.press('Tab')
      stops.push(
        await page.evaluate(`document.activeElement.textContent.trim() || document.activeElement.name`),
      )
      expect(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle`)).toBe('solid')
    }
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

  test('Tab on the second-factor page goes code, confirm, cancel, help, and back to the choice', async () => {
    const page = await open('second-factor-several')
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
  })

  test('the second-factor page sends six digits by Enter, and nothing else', async () => {
    const page = await open('second-factor')
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
  })

  test('the password field has the focus after a failed attempt', async () => {
    const page = await open('login-error')
    await expect.poll(() => page.evaluate(`document.activeElement.name`)).toBe('password')
  })

  test.each(['light', 'dark'])(
    'the colour of the app is that of the button and the focus, in %s',
    async (mode) => {
      const page = await open('brand-login', { features: { 'prefers-color-scheme': mode } })
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
      const [accent, text] =
        mode === 'light'
          ? ['rgb(109, 40, 217)', 'rgb(255, 255, 255)']
          : ['rgb(153, 105, 228)', 'rgb(0, 0, 0)']
      expect(colours).toEqual([accent, accent, text, accent])
    },
  )

  test('a logo with a dark version shows its light one on the white plate', async () => {
    const page = await open('brand-login')
    const pictureOf = async (value: string): Promise<string> => {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
      return page.screenshot({ clip: { x: 160, y: 44, width: 28, height: 24 }, encoding: 'base64' })
    }
    expect(await pictureOf('dark')).toBe(await pictureOf('light'))
  })

  test('a wide logo and the name fit beside each other', async () => {
    const page = await open('brand-login-unbreakable', { width: 320 })
    const [logo, name] = (await page.evaluate(
      `['.logo', '.logo + bdi'].map((part) => document.querySelector(part).getBoundingClientRect().toJSON())`,
    )) as { width: number; height: number; bottom: number; top: number }[]
    expect([logo?.width, logo?.height]).toEqual([160, 40])
    expect(name?.width).toBeGreaterThan(128)
  })

  test('nothing moves under prefers-reduced-motion', async () => {
    const page = await open('login', { features: { 'prefers-reduced-motion': 'reduce' } })
    const moving = await page.evaluate(
      `Array.from(document.querySelectorAll('*')).filter((element) => getComputedStyle(element).transitionDuration !== '0s').length`,
    )
    expect(moving).toBe(0)
  })
})

const social = 'button[name=provider]'

describe.skipIf(chromium === undefined)('a page whose button allows access, in Chromium', () => {
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

  it('a button that allows access ignores the click of a mouse that has just entered the page, such as the second of a double click', async () => {
    const { page, presses } = await open()
    await page.click(social)
    expect(await presses()).toBe(0)
    await page.evaluate('Promise.all(document.getAnimations().map((animation) => animation.finished))')
    await page.click(social)
    expect(await presses()).toBe(1)
    await page.close()
  })

  it('the keyboard can press the button that allows access at once', async () => {
    const { page, presses } = await open()
    await page.focus(social)
    await page.keyboard.press('Enter')
    expect(await presses()).toBe(1)
    await page.close()
  })
})
