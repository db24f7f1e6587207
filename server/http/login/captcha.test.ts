// A whole sign-in with a captcha in a real browser, under the policy that the server sends. The vendor is fake: the test answers
// the browser's requests to its hosts, and only what the policy allows arrives there.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Captcha } from '../../core/session/session-provider.ts'
import {
  findChromium,
  type RunningChromium,
  startChromium,
} from '../../../tests/support/server/headless-chromium.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import { ada, startGotrue } from '../../../tests/support/server/supabase-fixture.ts'
import {
  adasPassword,
  capabilitiesSample,
  providerSample,
  signedIn,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { type Listener, listen } from '../listener/listener.ts'
import { captchaSamples } from '../../../tests/support/pages/view-sample.ts'
import { standInForCaptcha, standInToken } from '../../../tests/support/pages/stand-in-captcha.ts'
import type { FetchHandler } from '../endpoint.ts'

const executable = findChromium()
const kinds = Object.keys(captchaSamples) as Captcha['kind'][]

describe.skipIf(executable === undefined)('captcha in Chromium', () => {
  let chromium: RunningChromium
  let client: Server
  let clientOrigin: string
  let listener: Listener
  let answer: FetchHandler

  beforeAll(async () => {
    chromium = await startChromium(executable ?? '')
    client = createServer((_, response) => response.end('Back at the client.')).listen(0, '127.0.0.1')
    await new Promise((resolve) => client.once('listening', resolve))
    clientOrigin = `http://127.0.0.1:${(client.address() as AddressInfo).port}`
    listener = await listen((request) => answer(request), { host: '127.0.0.1', port: 0 })
  })
  afterAll(async () => {
    await chromium?.close()
    client?.close()
    await listener?.close()
  })

  async function start(kind: Captcha['kind']): Promise<{ login: LoginFixture; sent: unknown[] }> {
    const sent: unknown[] = []
    const provider = providerSample({
      capabilities: async () => capabilitiesSample({ captcha: captchaSamples[kind] }),
      async passwordSignIn(input) {
        sent.push(input)
        return signedIn()
      },
      socialStart: async () => ({ url: `${clientOrigin}/social`, secret: 'secret' }),
    })
    const login = await createLoginFixture(provider, { baseUrl: `http://127.0.0.1:${listener.port}` })
    answer = login.fetch
    return { login, sent }
  }

  /** Opens the login page in a fresh tab, with everything the browser complains about. */
  async function openLogin(login: LoginFixture): Promise<{ page: Page; complaints: string[] }> {
    const page = await chromium.browser.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    await standInForCaptcha(page)
    const url = login.authorizeUrl()
    url.searchParams.set('redirect_uri', `${clientOrigin}/callback`)
    await page.goto(url.href)
    return { page, complaints }
  }

  async function fillIn(page: Page): Promise<void> {
    await page.type('input[name=email]', adasPassword.email)
    await page.type('input[name=password]', adasPassword.password)
  }

  async function pressWidget(page: Page): Promise<void> {
    const element = await page.waitForSelector('.captcha iframe')
    const frame = await element?.contentFrame()
    await (await frame?.waitForSelector('button'))?.click()
    await page.waitForFunction(`document.querySelector('.captcha textarea').value !== ''`)
  }

  it.each(kinds)('the %s widget runs under the page’s policy, and its response signs in', async (kind) => {
    const { login, sent } = await start(kind)
    const { page, complaints } = await openLogin(login)
    await fillIn(page)
    await pressWidget(page)
    await Promise.all([
      page.waitForNavigation(),
      page.click('form:has(input[name=password]) button[type=submit]'),
    ])
    expect(page.url()).toMatch(new RegExp(`^${clientOrigin}/callback\\?code=`))
    expect(sent).toEqual([{ ...adasPassword, captchaToken: standInToken }])
    expect(complaints).toEqual([])
    await page.close()
  })

  it('each mail needs its own captcha if the provider asks for one', async () => {
    const gotrue = startGotrue()
    const { admin, services } = gotrue.embedded
    await admin.createUser({ email: ada.email, password: ada.password })
    admin.setCaptcha({ secret: standInToken })
    const configured = { email: 'code', password: false, captcha: captchaSamples.turnstile } as const
    const baseUrl = `http://127.0.0.1:${listener.port}`
    const login = await createLoginFixture(gotrue.configured(configured), { baseUrl })
    answer = login.fetch
    const { page, complaints } = await openLogin(login)
    const press = (button: string) =>
      Promise.all([page.waitForNavigation(), page.click(`button[value=${button}]`)])
    await page.type('input[name=email]', ada.email)
    for (const mails of [1, 2]) {
      await press('email')
      expect(await page.$eval('[role=alert]', (alert) => alert.textContent)).toContain('captcha is missing')
      await pressWidget(page)
      await press('email')
      expect(await page.$('#email-code')).not.toBeNull()
      expect(services.mails).toHaveLength(mails)
      // This page has no captcha, so it cannot ask for another mail.
      expect(await page.$('button[value=email]')).toBeNull()
      for (const { runtime } of [gotrue, login]) runtime.advance(60)
      if (mails === 1) await press('back')
    }
    await page.type('input[name=code]', services.mails[0]?.code ?? '')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    expect(page.url()).toContain('/callback?code=')
    expect(complaints.filter((text) => !text.includes('status of 400'))).toEqual([])
    await page.close()
  })

  it.each(kinds)('the %s widget follows the page’s light and dark mode', async (kind) => {
    const { login } = await start(kind)
    const page = await chromium.browser.newPage()
    await standInForCaptcha(page)
    for (const scheme of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await page.goto(login.authorizeUrl().href)
      const source = await page.$eval('.captcha iframe', (frame) => frame.getAttribute('src'))
      expect(source).toMatch(new RegExp(`#${scheme}$`))
    }
    await page.close()
  })

  it.each(kinds)(
    'with %s the policy still blocks every other script, style, frame and request',
    async (kind) => {
      const { login } = await start(kind)
      const { page, complaints } = await openLogin(login)
      await page.evaluate(`
      const add = (name, attributes) => document.head.append(Object.assign(document.createElement(name), attributes))
      add('script', { textContent: 'window.injected = true' })
      add('script', { src: 'https://evil.example/a.js' })
      add('link', { rel: 'stylesheet', href: 'https://evil.example/a.css' })
      add('style', { textContent: 'body { color: red }' })
      add('iframe', { src: 'https://evil.example/' })
      fetch('https://evil.example/').catch(() => {})
    `)
      await expect
        .poll(() => complaints.filter((text) => text.includes('Content Security Policy')).length)
        .toBe(6)
      expect(await page.evaluate('window.injected')).toBeUndefined()
      await page.close()
    },
  )
})
