import { beforeEach, describe, expect, it } from 'vitest'
import { ProviderError, type SessionProvider } from '../../core/session/session-provider.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  adasPassword,
  publicClient,
  signedIn,
  signInSample,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const page = 'http://localhost:8787/oauth/device'

let login: LoginFixture
let browser: Browser
/** Sessions ended at the provider. */
let ended: unknown[]
let failure: ProviderError | undefined

function provider(): SessionProvider {
  return welcomingProvider({
    async passwordSignIn() {
      if (failure) throw failure
      return signedIn()
    },
    signOut: async (session) => void ended.push(session),
  })
}

beforeEach(async () => {
  ended = []
  failure = undefined
  login = await createLoginFixture(provider())
  browser = login.browser('192.0.2.1')
})

async function enter(userCode: string, by = browser): Promise<Visit> {
  return by.submit(await by.visit(page), 'user_code', { user_code: userCode })
}

describe('GET /oauth/device', () => {
  it('RFC 8628 3.3.1: a device code in the link is filled in to be compared, and not used yet', async () => {
    const { user_code: userCode, device_code: deviceCode } = await login.startDevice()
    const entry = await browser.visit(`${page}?user_code=${userCode.toLowerCase().replace('-', '')}`)
    expect(entry.html).toContain(`value="${userCode}"`)
    expect(entry.html).toContain('Is this the code on your device?')
    expect(entry.html).not.toContain('Sample')
    expect(await login.pollDevice(deviceCode)).toBe('authorization_pending')
    expect(login.logged()).toBe('')
  })

  it.each([['"><script>'], ['WDJB'], ['x'.repeat(5000)], ['12345678']])(
    'text in the link that is not a device code is not filled in: %s',
    async (given) => {
      const entry = await browser.visit(`${page}?user_code=${encodeURIComponent(given)}`)
      expect(entry.status).toBe(200)
      expect(entry.html).toContain('value=""')
      expect(entry.html).not.toContain('<script')
    },
  )
})

describe('a code that was typed', () => {
  it('RFC 8628 3.3: a typed device code shows who asks, from where and for what, with the ways to sign in', async () => {
    const { user_code: userCode } = await login.startDevice('203.0.113.7')
    login.runtime.advance(120)
    const { html } = await enter(` ${userCode.toLowerCase().replace('-', ' ')} `)
    const facts = [
      userCode,
      '203.0.113.7',
      '2 minutes ago',
      '“<bdi>Sample</bdi>”',
      'Stay connected for 30 days',
    ]
    for (const text of [...facts, 'Sign in and allow']) expect(html).toContain(text)
  })

  it('signing in allows the device, and the page sends the person back to it', async () => {
    const { user_code: userCode, device_code: deviceCode } = await login.startDevice()
    const shown = await enter(userCode)
    expect(await login.pollDevice(deviceCode)).toBe('authorization_pending')
    const done = await browser.submit(shown, 'password', adasPassword)
    expect(done.status).toBe(200)
    expect(done.html).toContain('Go back to your device')
    login.runtime.advance(10)
    expect(await login.pollDevice(deviceCode)).toBe('approved')
    expect(login.logged()).toContain('{"event":"device_allowed","client_id":"mcpc_public","sub":"sub ada"}')
    expect(ended).toEqual([])
  })

  it('after a wrong password the page shows the device again, which still waits', async () => {
    const { user_code: userCode } = await login.startDevice('203.0.113.7')
    failure = new ProviderError('invalid_credentials', 'no')
    const again = await browser.submit(await enter(userCode), 'password', adasPassword)
    expect(again.status).toBe(400)
    expect(again.html).toContain('Wrong email or password')
    expect(again.html).toContain('203.0.113.7')
    failure = undefined
    expect((await browser.submit(again, 'password', adasPassword)).html).toContain('Go back to your device')
  })

  it.each([
    ['127.0.0.1', 'http://localhost:8787', true],
    ['::1', 'http://localhost:8787', true],
    ['203.0.113.7', 'http://localhost:8787', false],
    // The address of a proxy the server does not know.
    ['127.0.0.1', 'https://mcp.example.com', false],
  ])('a device at %s, asking a server at %s, is on this computer: %s', async (address, baseUrl, isHere) => {
    login = await createLoginFixture(provider(), { baseUrl })
    const own = login.browser('192.0.2.1')
    const { user_code: userCode } = await login.startDevice(address)
    const entry = await own.visit(`${baseUrl}/oauth/device`)
    const { html } = await own.submit(entry, 'user_code', { user_code: userCode })
    expect(html.includes('A program on this computer')).toBe(isHere)
    expect(html.includes('A device or program elsewhere')).toBe(!isHere)
    expect(html.includes(`>${address}</span`)).toBe(!isHere)
  })

  it('cancelling tells the device that access was denied', async () => {
    const { user_code: userCode, device_code: deviceCode } = await login.startDevice()
    const denied = await browser.submit(await enter(userCode), 'action', { action: 'deny' })
    expect(denied.html).toContain('Access denied')
    expect(await login.pollDevice(deviceCode)).toBe('access_denied')
    expect(login.logged()).toContain('{"event":"device_denied","client_id":"mcpc_public"}')
  })
})

describe('a device that was already allowed or denied', () => {
  it.each<[what: string, meanwhile: (shown: Visit) => Promise<unknown> | void]>([
    ['was refused in another tab', (shown) => browser.submit(shown, 'action', { action: 'deny' })],
    ['has expired', () => login.runtime.advance(901)],
    ['was allowed before', (shown) => browser.submit(shown, 'password', adasPassword)],
  ])('a device that %s gets no access by a sign-in, and the session is ended', async (_what, meanwhile) => {
    const { user_code: userCode } = await login.startDevice()
    const shown = await enter(userCode)
    await meanwhile(shown)
    ended = []
    const late = await browser.submit(shown, 'password', adasPassword)
    expect(late.status).toBe(400)
    expect(late.html).toContain('This code is no longer valid')
    expect(ended).toEqual([signInSample().session])
  })

  it('denying a device that is no longer waiting says so', async () => {
    const { user_code: userCode } = await login.startDevice()
    const shown = await enter(userCode)
    login.runtime.advance(901)
    const late = await browser.submit(shown, 'action', { action: 'deny' })
    expect(late.html).toContain('This code is no longer valid')
  })

  it('a device whose client is no longer registered is not shown', async () => {
    const { user_code: userCode } = await login.startDevice()
    await login.shared.store.removeClient(publicClient().id)
    expect((await enter(userCode)).html).toContain('The app on this device is not registered here')
  })
})

describe('a wrong device code', () => {
  it.each([
    ['WDJB-MJHT', 'No device is waiting with this code'],
    ['nonsense', 'No device is waiting with this code'],
    ['seven77', 'A code has eight letters'],
    ['', 'A code has eight letters'],
    ['"><script>', 'A code has eight letters'],
  ])('for the device code %j the page says what to do', async (typed, text) => {
    const wrong = await enter(typed)
    expect(wrong.status).toBe(400)
    expect(wrong.html).toContain(text)
    expect(wrong.html).not.toContain('<script')
  })

  it('RFC 8628 5.1: after ten codes of one address in ten minutes not even the right one is looked at', async () => {
    const { user_code: userCode } = await login.startDevice()
    for (let time = 0; time < 10; time += 1) expect((await enter('WDJB-MJHT')).status).toBe(400)
    const limited = await enter(userCode)
    expect(limited.status).toBe(429)
    expect(limited.response?.headers.get('retry-after')).toBe('600')
    expect(limited.html).toContain('Wait 10 minutes')
    expect(limited.html).not.toContain('Sample')
    expect((await enter(userCode, login.browser('192.0.2.2'))).status).toBe(200)
    login.runtime.advance(600)
    expect((await enter(userCode)).status).toBe(200)
  })

  it('RFC 8628 5.1: many addresses together leave a share for browsers that are known', async () => {
    const { user_code: userCode } = await login.startDevice()
    await browser.submit(await enter(userCode), 'password', adasPassword)
    const { store } = login.shared
    for (let time = 0; time < 400; time += 1)
      await store.countAttempt('device code strangers', 600, login.runtime.now())
    expect((await enter('WDJB-MJHT', login.browser('192.0.2.2'))).status).toBe(429)
    expect((await enter('WDJB-MJHT')).status).toBe(400)
  })

  it('text that cannot be a device code does not count as an attempt', async () => {
    for (let time = 0; time < 12; time += 1) await enter('nonsense')
    expect((await enter('WDJB-MJHT')).status).toBe(400)
  })
})

describe('a form', () => {
  it('login CSRF: a device form of one browser is useless in another', async () => {
    const { user_code: userCode } = await login.startDevice()
    const entry = await browser.visit(page)
    for (const opens of [false, true]) {
      const stranger = login.browser()
      if (opens) await stranger.visit(page)
      const stolen = await stranger.submit(entry, 'user_code', { user_code: userCode })
      expect(stolen.status).toBe(403)
    }
  })

  it.each<[what: string, fields: Record<string, string>]>([
    ['without its seal', { user_code: 'WDJB-MJHT' }],
    ['with a made-up seal', { user_code: 'WDJB-MJHT', form: 'k.AAAA' }],
    ['with a made-up transaction', { transaction: 'k.AAAA' }],
  ])('a device form %s is refused', async (_what, fields) => {
    const body = new URLSearchParams(fields)
    expect((await login.fetch(new Request(page, { method: 'POST', body }))).status).toBe(400)
  })
})
