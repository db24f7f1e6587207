import { setTimeout } from 'node:timers/promises'
import { createSignal, type Signal } from '@drawbridge/shared/async.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import type { EmailMethod } from '../../core/session/session-provider.ts'
import type { Mail } from '../../sandbox/provider/email/mailbox.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { authorizationRequest } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import { walkGoogle } from '../../../tests/support/sandbox/provider-fixture.ts'
import { ada, type GotrueFixture, startGotrue } from '../../../tests/support/server/supabase-fixture.ts'

const { email } = ada
let gotrue: GotrueFixture
let login: LoginFixture
let browser: Browser
/** Requests that reached the provider. */
let asked: string[]
let isAway: boolean
/** Holds up the sending of every mail. */
let sending: Signal | undefined
/** Breaks the sending of every mail. */
let isBroken: boolean

/** Opens the flow in front of a provider with one account. */
async function open(
  method: EmailMethod,
  { limitPerMinute, ...options }: { password?: boolean; limitPerMinute?: number } = {},
): Promise<void> {
  gotrue = startGotrue()
  await gotrue.embedded.admin.createUser({ email })
  asked = []
  isAway = false
  sending = undefined
  isBroken = false
  const provider = gotrue.configured({ email: method, ...options }, async (request) => {
    asked.push(`${request.method} ${new URL(request.url).pathname}`)
    if (isAway) return new Response('', { status: 503 })
    const answer = await gotrue.embedded.fetch(request)
    // As in the real API, mail is sent while it is asked, and to accounts only.
    if (!request.url.includes('/otp') || !answer.ok) return answer
    await sending?.given
    return isBroken ? Response.json({ code: 'unexpected_failure' }, { status: 500 }) : answer
  })
  const limits = limitPerMinute === undefined ? {} : { limitPerMinute }
  login = await createLoginFixture(provider, { ...limits, isSlow: () => sending !== undefined })
  browser = login.browser('192.0.2.1')
}

beforeEach(() => open('both'))

function later(seconds: number): void {
  gotrue.runtime.advance(seconds)
  login.runtime.advance(seconds)
}

const plain = ({ html }: Visit): string =>
  html
    .replaceAll(email, 'X')
    .replaceAll('nobody@example.com', 'X')
    .replaceAll(/value="[^"]{60,}"/g, '')
    .replaceAll(/in\s\d+\sseconds/g, 'in some seconds')
const mails = (): readonly Mail[] => gotrue.embedded.services.mailbox.list()
const sends = (): number => asked.filter((line) => line === 'POST /auth/v1/otp').length

async function ask(address: string = email, by: Browser = browser): Promise<Visit> {
  return by.submit(await login.open(by), 'email', { email: address, action: 'email' })
}

const enter = (at: Visit, code: string, by: Browser = browser): Promise<Visit> =>
  by.submit(at, 'code', { code })

const wrong = (right: string): string => (right === '000000' ? '000001' : '000000')

function expectCode(done: Visit): void {
  expect(`${done.url.origin}${done.url.pathname}`).toBe(authorizationRequest().redirectUri)
  expect(done.url.searchParams.has('code')).toBe(true)
}

it('the login page offers the mail alone when the password is off, and takes none', async () => {
  await open('code', { password: false })
  const page = await login.open(browser)
  expect(page.html).not.toContain('id="password"')
  const refused = await browser.submit(page, 'email', { email, password: ada.password })
  expect(refused.status).toBe(400)
  expect(refused.html).toContain('This sign-in method is turned off')
  expect(asked).not.toContain('POST /auth/v1/token')
})

describe('a code', () => {
  it('signs in, and the client gets its own code', async () => {
    const page = await ask()
    expect(page.status).toBe(200)
    expect(page.html).toContain('Check your email')
    expectCode(await enter(page, ` ${mails()[0]?.code.replace(/^.../, '$& ') ?? ''} `))
    expect(login.logged()).toContain('email_requested')
    expect(login.logged()).not.toContain(mails()[0]?.code)
    expect(login.logged()).not.toContain(email)
  })

  it('that is wrong can be corrected four times, and not a fifth', async () => {
    let page = await ask()
    const code = mails()[0]?.code ?? ''
    for (const left of [
      '4\u00a0attempts are left',
      '3\u00a0attempts',
      '2\u00a0attempts',
      'One attempt is left',
    ]) {
      page = await enter(page, wrong(code))
      expect(page.status).toBe(400)
      expect(page.html).toContain(left)
    }
    const over = await enter(page, wrong(code))
    expect(over.html).toContain('That code can no longer be used')
    expect((await enter(page, code)).html).toContain('That code can no longer be used')
  })

  it('posted a hundred times at once is checked five times', async () => {
    const page = await ask()
    const code = wrong(mails()[0]?.code ?? '')
    await Promise.all(Array.from({ length: 100 }, () => enter(page, code)))
    expect(asked.filter((line) => line === 'POST /auth/v1/verify')).toHaveLength(5)
  })

  it('is not checked when it is none, and works when the provider is back', async () => {
    const page = await ask()
    const again = await enter(page, '12a456')
    expect(again.html).toContain('Wrong or expired code')
    expect(asked).not.toContain('POST /auth/v1/verify')
    expectCode(await enter(again, mails()[0]?.code ?? ''))
  })

  it('ends after an hour', async () => {
    const page = await ask()
    later(3599)
    expect((await enter(page, mails()[0]?.code ?? '')).url.searchParams.has('code')).toBe(true)
    later(60)
    const next = await ask()
    later(3600)
    expect((await enter(next, mails()[0]?.code ?? '')).url.searchParams.has('code')).toBe(false)
  })
})

describe('somebody without an account', () => {
  it('gets the same page and the same line in the log', async () => {
    const known = await ask()
    const linesOfKnown = login.logged()
    await open('both')
    const unknown = await ask('nobody@example.com')
    expect(unknown.status).toBe(known.status)
    expect(plain(unknown)).toBe(plain(known))
    expect(login.logged()).toBe(linesOfKnown)
    expect(mails()).toEqual([])
    expect((await enter(unknown, '123456')).html).toContain('Wrong or expired code')
  })

  it('waits for the page for half a second, as somebody with an account does', async () => {
    for (const address of [email, 'nobody@example.com']) {
      const slept: number[] = []
      login.runtime.sleep = async (ms) => {
        await setTimeout(100)
        slept.push(ms)
      }
      await ask(address)
      expect(Math.max(...slept)).toBeGreaterThan(300)
    }
  })

  it('costs a visitor no guesses, as somebody with an account does not', async () => {
    await open('code', { limitPerMinute: 4 })
    for (let person = 0; person < 10; person += 1) {
      expect((await ask(`p${person}@example.com`)).status).toBe(200)
      later(60)
    }
    // Twelve guesses an hour are what three minutes of the total allow.
    for (let guess = 0; guess < 12; guess += 1) {
      const page = await login.open(browser)
      const wrongOne = { email: `g${guess}@example.com`, password: 'wrong' }
      expect((await browser.submit(page, 'password', wrongOne)).status).toBe(400)
      later(60)
    }
  })

  it('is never signed up', async () => {
    await ask('nobody@example.com')
    expect(gotrue.embedded.services.accounts.findByEmail('nobody@example.com')).toBeUndefined()
  })
})

describe('a provider that takes long to send a mail', () => {
  beforeEach(() => {
    sending = createSignal()
  })

  it('shows by nothing that it sends one', async () => {
    const known = await ask()
    expect(known.html).toContain('Check your email')
    const linesOfKnown = login.logged()
    await open('both')
    sending = createSignal()
    const unknown = await ask('nobody@example.com')
    expect([unknown.status, plain(unknown)]).toEqual([known.status, plain(known)])
    expect(login.logged()).toBe(linesOfKnown)
  })

  it.each(['code', 'link'] as const)('gets its %s used when it has sent it', async (what) => {
    const page = await ask()
    sending?.give()
    await login.settle()
    const [mail] = mails()
    if (what === 'code') return expectCode(await enter(page, mail?.code ?? ''))
    const back = await gotrue.embedded.fetch(new Request(mail?.link ?? ''))
    expectCode(await browser.visit(back.headers.get('location') ?? ''))
  })

  it('and breaks in the end is in the log, and the mail counts', async () => {
    isBroken = true
    expect((await ask()).status).toBe(200)
    expect(login.logged()).not.toContain('sign_in_failed')
    sending?.give()
    await login.settle()
    expect(login.logged()).toContain('"failure":"transient"')
    expect((await ask()).status).toBe(429)
  })

  it('and goes away in the end costs no mail', async () => {
    const page = await ask()
    expect(page.status).toBe(200)
    isAway = true
    isBroken = true
    sending?.give()
    await login.settle()
    isAway = false
    isBroken = false
    expect((await ask()).status).toBe(200)
  })
})

it('a mail that cannot be sent looks like one to somebody without an account', async () => {
  isBroken = true
  const known = await ask()
  expect(login.logged()).toContain('sign_in_failed')
  await open('both')
  const unknown = await ask('nobody@example.com')
  expect([unknown.status, plain(unknown)]).toEqual([known.status, plain(known)])
})

it.each([email, 'nobody@example.com'])('five mails to %s end the oldest sign-in that waits', async (to) => {
  const google = (await browser.submit(await login.open(browser), 'provider', { provider: 'google' })).url
  for (let minute = 0; minute < 5; minute += 1) {
    expect((await ask(to)).status).toBe(200)
    later(60)
  }
  const back = await walkGoogle(gotrue.embedded, google.href, '@')
  expect((await browser.visit(back.href)).html).toContain('begun in another browser')
})

describe('another mail', () => {
  it('can be had after a minute, whose rest is shown', async () => {
    const page = await ask()
    expect(page.html).toContain('in 60\u00a0seconds')
    const early = await browser.submit(page, 'action', { action: 'email' })
    expect(early.status).toBe(429)
    expect(early.html).toContain('Too many attempts')
    expect(sends()).toBe(1)
    later(60)
    const next = await browser.submit(early, 'action', { action: 'email' })
    expect(next.status).toBe(200)
    expect(mails()).toHaveLength(2)
    expectCode(await enter(next, mails()[0]?.code ?? ''))
  })

  it('goes to no other address than the first', async () => {
    const page = await ask()
    later(60)
    await browser.submit(page, 'action', { action: 'email', email: 'eve@example.com' })
    expect(mails().map(({ to }) => to)).toEqual([email, email])
  })

  it('or another way can be chosen on the login page', async () => {
    const back = await browser.submit(await ask(), 'action', { action: 'back' })
    expect(back.html).toContain(`value="${email}"`)
    expect(back.html).toContain('id="password"')
  })

  it('can be had by a browser of the owner when somebody else has used all of them up', async () => {
    expectCode(await enter(await ask(), mails()[0]?.code ?? ''))
    for (let minute = 0; minute < 8; minute += 1) {
      later(60)
      await ask(email, login.browser(`198.51.${minute}.1`))
    }
    later(60)
    expect((await ask(email, login.browser('203.0.113.1'))).status).toBe(429)
    const page = await ask()
    expect(page.status).toBe(200)
    expectCode(await enter(page, mails()[0]?.code ?? ''))
  })

  it('need not be waited for when the provider could not be asked', async () => {
    const page = await login.open(browser)
    isAway = true
    expect((await browser.submit(page, 'email', { email, action: 'email' })).status).toBe(503)
    isAway = false
    expect((await ask()).status).toBe(200)
    expect(mails()).toHaveLength(1)
  })
})

describe('a link', () => {
  it('signs in in the browser that asked for it', async () => {
    await open('link')
    const page = await ask()
    expect(page.html).toContain('Open the link in it, in this browser.')
    expect(page.html).not.toContain('id="code"')
    const back = await gotrue.embedded.fetch(new Request(mails()[0]?.link ?? ''))
    expectCode(await browser.visit(back.headers.get('location') ?? ''))
  })

  it('says what to do when it is opened elsewhere, or twice', async () => {
    await ask()
    const link = mails()[0]?.link ?? ''
    const follow = async () => (await gotrue.embedded.fetch(new Request(link))).headers.get('location') ?? ''
    const elsewhere = await login.browser('192.0.2.9').visit(await follow())
    expect(elsewhere.status).toBe(400)
    expect(elsewhere.html).toContain('begun in another browser')
    const twice = await browser.visit(await follow())
    expect(twice.html).toContain('begun in another browser')
  })
})

it.each([
  { is: 'nothing', typed: '' },
  { is: 'a name', typed: 'ada' },
  { is: 'two addresses', typed: 'ada@example.com eve@example.com' },
  { is: 'endless', typed: `${'a'.repeat(400)}@example.com` },
])('$is is no address, and nothing is sent', async ({ typed }) => {
  const page = await ask(typed)
  expect(page.status).toBe(400)
  expect(page.html).toContain('That is not an email address')
  expect(sends()).toBe(0)
})

it('allows a device, and opens the connections, the same way', async () => {
  const device = await login.startDevice()
  const confirm = await browser.visit(device.verification_uri_complete)
  const start = confirm.html.includes('id="email"')
    ? confirm
    : await browser.submit(confirm, 'user_code', { user_code: device.user_code })
  const page = await browser.submit(start, 'email', { email, action: 'email' })
  expect((await enter(page, mails()[0]?.code ?? '')).html).toContain('Your device can connect now')
  expect(await login.pollDevice(device.device_code)).toBe('approved')
  later(60)
  const account = await browser.visit('http://localhost:8787/account/connections')
  const mailed = await browser.submit(account, 'email', { email, action: 'email' })
  expect((await enter(mailed, mails()[0]?.code ?? '')).html).toContain('connections')
})
