import { setTimeout } from 'node:timers/promises'
import { createSignal, type Signal } from '@drawbridge/shared/async.ts'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { EmailMethod } from '../../core/session/session-provider.ts'
import type { Mail } from '../../sandbox/provider/auth-services.ts'
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
/** Refuses every call, as to an address that calls too often. */
let isLimited: boolean
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
  isLimited = false
  sending = undefined
  isBroken = false
  const provider = gotrue.configured({ email: method, ...options }, async (request) => {
    asked.push(`${request.method} ${new URL(request.url).pathname}`)
    if (isAway) return new Response('', { status: 503 })
    if (isLimited && request.method === 'POST')
      return Response.json({ code: 'over_request_rate_limit' }, { status: 429 })
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
const mails = (): readonly Mail[] => gotrue.embedded.services.mails
const sends = (): number => asked.filter((line) => line === 'POST /auth/v1/otp').length

async function ask(address: string = email, by: Browser = browser): Promise<Visit> {
  return by.submit(await login.open(by), 'email', { email: address, action: 'email' })
}

const verifies = (): number => asked.filter((line) => line === 'POST /auth/v1/verify').length

/** Returns the alert of a page. */
const alertOf = ({ html }: Visit): string | undefined =>
  /role="alert"[^>]*>(.*?)<\/p>/s
    .exec(html)?.[1]
    ?.replaceAll(/<svg.*?<\/svg>|<[^>]*>/gs, '')
    .trim()

const enter = (at: Visit, code: string, by: Browser = browser): Promise<Visit> =>
  by.submit(at, 'code', { code })

const wrong = (right: string): string => (right === '000000' ? '000001' : '000000')

function expectCode(done: Visit): void {
  expect(`${done.url.origin}${done.url.pathname}`).toBe(authorizationRequest().redirectUri)
  expect(done.url.searchParams.has('code')).toBe(true)
}

it('the login page offers only the mail when passwords are off, and refuses a posted password', async () => {
  await open('code', { password: false })
  const page = await login.open(browser)
  expect(page.html).not.toContain('id="password"')
  const refused = await browser.submit(page, 'email', { email, password: ada.password })
  expect(refused.status).toBe(400)
  expect(refused.html).toContain('This sign-in method is turned off')
  expect(asked).not.toContain('POST /auth/v1/token')
})

describe('a mailed code', () => {
  it('a mailed code signs in, and the client gets its own code', async () => {
    const page = await ask()
    expect(page.status).toBe(200)
    expect(page.html).toContain('Check your email')
    expectCode(await enter(page, ` ${mails()[0]?.code.replace(/^.../, '$& ') ?? ''} `))
    expect(login.logged()).toContain('email_requested')
    expect(login.logged()).not.toContain(mails()[0]?.code)
    expect(login.logged()).not.toContain(email)
  })

  it('a right mailed code is accepted after four wrong ones, but not after five', async () => {
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

  it('a mailed code is checked five times when it is posted a hundred times at once', async () => {
    const page = await ask()
    const code = wrong(mails()[0]?.code ?? '')
    await Promise.all(Array.from({ length: 100 }, () => enter(page, code)))
    expect(asked.filter((line) => line === 'POST /auth/v1/verify')).toHaveLength(5)
  })

  it('malformed mailed codes are not checked, and a code is accepted once the provider is back', async () => {
    const page = await ask()
    const again = await enter(page, '12a456')
    expect(again.html).toContain('Wrong or expired code')
    expect(asked).not.toContain('POST /auth/v1/verify')
    expectCode(await enter(again, mails()[0]?.code ?? ''))
  })

  it('a mailed code expires after an hour', async () => {
    const page = await ask()
    later(3599)
    expect((await enter(page, mails()[0]?.code ?? '')).url.searchParams.has('code')).toBe(true)
    later(60)
    const next = await ask()
    later(3600)
    expect((await enter(next, mails()[0]?.code ?? '')).url.searchParams.has('code')).toBe(false)
  })
})

describe('a visitor without an account', () => {
  it('a visitor without an account sees and logs the same as one with an account', async () => {
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

  it('a mail is answered after half a second, with and without an account', async () => {
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

  it('requests for mails use up no sign-in attempts', async () => {
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

  it('a request for a mail creates no account', async () => {
    await ask('nobody@example.com')
    expect(gotrue.embedded.services.accounts.findByEmail('nobody@example.com')).toBeUndefined()
  })
})

describe('a provider that takes long to send a mail', () => {
  beforeEach(() => {
    sending = createSignal()
  })

  it('a slow provider does not reveal that it sends a mail', async () => {
    const known = await ask()
    expect(known.html).toContain('Check your email')
    const linesOfKnown = login.logged()
    await open('both')
    sending = createSignal()
    const unknown = await ask('nobody@example.com')
    expect([unknown.status, plain(unknown)]).toEqual([known.status, plain(known)])
    expect(login.logged()).toBe(linesOfKnown)
  })

  it.each(['code', 'link'] as const)('the %s of a slow mail works once it has been sent', async (what) => {
    const page = await ask()
    sending?.give()
    await login.settle()
    const [mail] = mails()
    if (what === 'code') return expectCode(await enter(page, mail?.code ?? ''))
    const back = await gotrue.embedded.fetch(new Request(mail?.link ?? ''))
    expectCode(await browser.visit(back.headers.get('location') ?? ''))
  })

  it('a mail that fails after the page was shown is logged and counted', async () => {
    isBroken = true
    expect((await ask()).status).toBe(200)
    expect(login.logged()).not.toContain('sign_in_failed')
    sending?.give()
    await login.settle()
    expect(login.logged()).toContain('"failure":"transient"')
    expect((await ask()).status).toBe(429)
  })

  it('a lost link of a mail is reported when the store fails after the page was shown', async () => {
    expect((await ask()).status).toBe(200)
    vi.spyOn(login.shared.store, 'addSocialSignIn').mockRejectedValueOnce(new Error('The disk is full.'))
    sending?.give()
    await login.settle()
    await expect.poll(() => login.logged()).toContain('email_link_lost')
  })

  it('a mail is not counted if the provider becomes unreachable while sending', async () => {
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

it('a mail that cannot be sent looks like a mail to an unknown address', async () => {
  isBroken = true
  const known = await ask()
  expect(login.logged()).toContain('email_not_sent')
  await open('both')
  const unknown = await ask('nobody@example.com')
  expect([unknown.status, plain(unknown)]).toEqual([known.status, plain(known)])
})

it.each([email, 'nobody@example.com'])('five mails to %s end the oldest pending sign-in', async (to) => {
  const google = (await browser.submit(await login.open(browser), 'provider', { provider: 'google' })).url
  for (let minute = 0; minute < 5; minute += 1) {
    expect((await ask(to)).status).toBe(200)
    later(60)
  }
  const back = await walkGoogle(gotrue.embedded, google.href, '@')
  expect((await browser.visit(back.href)).html).toContain('begun in another browser')
})

describe('another mail', () => {
  it('another mail can be requested after a minute, and the page shows the remaining time', async () => {
    const page = await ask()
    expect(page.html).toContain('in 60\u00a0seconds')
    const early = await browser.submit(page, 'action', { action: 'email' })
    expect(early.status).toBe(429)
    expect(alertOf(early)).toBe(
      'A mail was asked for a moment ago. Use that one, or ask again in 60\u00a0seconds.',
    )
    expect(sends()).toBe(1)
    later(60)
    const next = await browser.submit(early, 'action', { action: 'email' })
    expect(next.status).toBe(200)
    expect(mails()).toHaveLength(2)
    expectCode(await enter(next, mails()[0]?.code ?? ''))
  })

  it('a second tab says when another mail can be requested', async () => {
    await ask()
    later(17)
    const second = await ask()
    expect([second.status, alertOf(second)]).toEqual([
      429,
      'A mail was asked for a moment ago. Use that one, or ask again in 43\u00a0seconds.',
    ])
  })

  it('another mail goes to the address of the first only', async () => {
    const page = await ask()
    later(60)
    await browser.submit(page, 'action', { action: 'email', email: 'eve@example.com' })
    expect(mails().map(({ to }) => to)).toEqual([email, email])
  })

  it('the page that waits for a mail leads back to the other ways to sign in', async () => {
    const back = await browser.submit(await ask(), 'action', { action: 'back' })
    expect(back.html).toContain(`value="${email}"`)
    expect(back.html).toContain('id="password"')
  })

  it('a browser that knows the account gets a mail after others have used up its limit', async () => {
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

  it('another mail can be requested at once if the provider was unreachable', async () => {
    const page = await login.open(browser)
    isAway = true
    expect((await browser.submit(page, 'email', { email, action: 'email' })).status).toBe(503)
    isAway = false
    expect((await ask()).status).toBe(200)
    expect(mails()).toHaveLength(1)
  })
})

describe('a mailed link', () => {
  it('a mailed link signs in the browser that asked for it', async () => {
    await open('link')
    const page = await ask()
    expect(page.html).toContain('Open the link in it, in this browser.')
    expect(page.html).not.toContain('id="code"')
    const back = await gotrue.embedded.fetch(new Request(mails()[0]?.link ?? ''))
    expectCode(await browser.visit(back.headers.get('location') ?? ''))
  })

  it.each([
    [3500, true],
    [3599, true],
    [3600, false],
  ])('a mailed link opened after %i seconds signs in: %s', async (seconds, isIn) => {
    await open('link')
    await ask()
    later(seconds)
    const back = await gotrue.embedded.fetch(new Request(mails()[0]?.link ?? ''))
    const done = await browser.visit(back.headers.get('location') ?? '')
    expect(done.url.href.startsWith(`${authorizationRequest().redirectUri}?code=`)).toBe(isIn)
  })

  it('a mailed link can be opened again after it came back with an empty code', async () => {
    await ask()
    const early = await browser.visit('http://localhost:8787/oauth/callback?code=')
    expect(early.status).toBe(503)
    const back = await gotrue.embedded.fetch(new Request(mails()[0]?.link ?? ''))
    expectCode(await browser.visit(back.headers.get('location') ?? ''))
  })

  it('a mailed link tells the owner of the mailbox that the account is banned', async () => {
    await ask()
    gotrue.embedded.admin.banUser(gotrue.embedded.admin.findUser(email)?.id ?? '')
    const back = await gotrue.embedded.fetch(new Request(mails()[0]?.link ?? ''))
    expect((await browser.visit(back.headers.get('location') ?? '')).html).toContain(
      'This account cannot sign in',
    )
  })

  it('a mailed link opened in another browser, or twice, says what to do', async () => {
    const page = await ask()
    const link = mails()[0]?.link ?? ''
    const follow = async () => (await gotrue.embedded.fetch(new Request(link))).headers.get('location') ?? ''
    const elsewhere = await login.browser('192.0.2.9').visit(await follow())
    expect(elsewhere.status).toBe(400)
    expect(elsewhere.html).toContain('begun in another browser')
    const twice = await browser.visit(await follow())
    expect(twice.html).toContain('begun in another browser')
    for (const { html } of [elsewhere, twice])
      expect(html).toContain('go back to the page that waits for it. Enter the code')
    later(60)
    const next = await browser.submit(page, 'action', { action: 'email' })
    expectCode(await enter(next, mails()[0]?.code ?? ''))
  })
})

describe('people behind one network address', () => {
  const people = Array.from({ length: 15 }, (_, person) => `p${person}@example.com`)

  it.each(['code', 'link'] as const)(
    'people behind one network address sign in one after the other, each with the %s of their mail',
    async (what) => {
      for (const person of people) {
        await gotrue.embedded.admin.createUser({ email: person })
        const own = login.browser('192.0.2.1')
        const page = await ask(person, own)
        const { code, link = '' } = mails()[0]!
        if (what === 'code') expectCode(await enter(page, code, own))
        else {
          const back = await gotrue.embedded.fetch(new Request(link))
          expectCode(await own.visit(back.headers.get('location') ?? ''))
        }
      }
    },
  )

  it('one network address gets ten unused mails an hour', async () => {
    for (const [index, person] of people.entries()) {
      const page = await ask(person, login.browser('192.0.2.1'))
      expect(page.status).toBe(index < 10 ? 200 : 429)
      if (index >= 10) expect(alertOf(page)).toContain('Too many mails were asked for. Wait 60 minutes')
    }
  })
})

it('wrong second-factor codes count for the account, after a mail and after a password', async () => {
  await open('code', { password: true })
  const both = { email: 'grace@example.com', password: 'correct horse battery' }
  const { id } = await gotrue.embedded.admin.createUser(both)
  gotrue.embedded.admin.enrollTotp(id)
  const wrongCodes = async (at: Visit): Promise<Visit> => {
    let page = at
    expect(page.html).toContain('id="code"')
    for (let tries = 0; tries < 5; tries += 1) page = await enter(page, '000000', by)
    return page
  }
  let by = login.browser('192.0.2.1')
  const mailed = await enter(await ask(both.email, by), mails()[0]?.code ?? '', by)
  expect((await wrongCodes(mailed)).html).toContain('Too many wrong codes')
  by = login.browser('198.51.100.1')
  const password = await by.submit(await login.open(by), 'password', both)
  expect((await wrongCodes(password)).html).toContain('Too many wrong codes')
  by = login.browser('203.0.113.1')
  expect((await by.submit(await login.open(by), 'password', both)).status).toBe(429)
})

it('one person can sign in with a mailed code eight times in an hour', async () => {
  for (let times = 0; times < 8; times += 1) {
    expectCode(await enter(await ask(), mails()[0]?.code ?? ''))
    later(60)
  }
})

describe('a banned account', () => {
  it.each(['the right code', 'a wrong code'])(
    'a banned account gets the page of a wrong code for %s',
    async (which) => {
      const page = await ask()
      const code = mails()[0]?.code ?? ''
      gotrue.embedded.admin.banUser(gotrue.embedded.admin.findUser(email)?.id ?? '')
      const banned = await enter(page, which === 'the right code' ? code : wrong(code))
      const other = login.browser('192.0.2.2')
      const nobody = await enter(await ask('nobody@example.com', other), '123456', other)
      expect([banned.status, plain(banned)]).toEqual([nobody.status, plain(nobody)])
      expect(banned.html).toContain('4\u00a0attempts are left')
    },
  )
})

it('wrong mailed codes of one account are limited to a hundred a day', async () => {
  let guesses = 0
  for (let quarter = 0; quarter < 60; quarter += 1) {
    const by = login.browser(`198.51.100.${quarter}`)
    let page = await ask(email, by)
    for (let tries = 0; tries < 5 && page.status !== 429; tries += 1) {
      const before = verifies()
      page = await enter(page, wrong(mails()[0]?.code ?? ''), by)
      guesses += verifies() - before
    }
    later(900)
  }
  expect(guesses).toBe(100)
  later(86_400)
  expectCode(await enter(await ask(), mails()[0]?.code ?? ''))
})

it('a right mailed code does not count towards the limit of a day', async () => {
  for (let sign = 0; sign < 101; sign += 1) {
    const by = login.browser(`198.51.100.${sign}`)
    expectCode(await enter(await ask(email, by), mails()[0]?.code ?? '', by))
    later(61)
  }
})

describe('a project that limits all mails of this server', () => {
  it('a server sends fewer mails than thirty in five minutes, the limit of Supabase', async () => {
    await open('code', { limitPerMinute: 20 })
    // As GoTrue counts: thirty at once, and one more every ten seconds.
    let left = 30
    const refused: number[] = []
    for (let second = 0; second < 900; second += 1) {
      left = Math.min(30, left + 0.1)
      if (second % 60 < 13) {
        const before = sends()
        await ask(`p${second}@example.com`, login.browser(`198.51.${second >> 8}.${second & 255}`))
        left -= sends() - before
        if (left < 0) refused.push(second)
      }
      later(1)
    }
    expect(refused).toEqual([])
    expect(sends()).toBeGreaterThan(50)
  })

  it('a server checks fewer mailed codes than thirty in five minutes, the limit of Supabase', async () => {
    await open('code', { limitPerMinute: 20 })
    let left = 30
    for (let second = 0; second < 1800; second += 30) {
      const by = login.browser(`198.51.100.${second / 30}`)
      const page = await ask(`p${second}@example.com`, by)
      left = Math.min(30, left + 3)
      for (let tries = 0; page.status === 200 && tries < 5; tries += 1) {
        const before = verifies()
        await enter(page, '000000', by)
        left -= verifies() - before
        expect(left).toBeGreaterThanOrEqual(0)
      }
      later(30)
    }
    expect(verifies()).toBeGreaterThan(50)
  })

  it('a project that limits mails is reported, and the mail is not counted', async () => {
    isLimited = true
    const page = await ask()
    expect([page.status, alertOf(page)]).toEqual([429, 'Too many attempts. Wait a minute, then try again.'])
    isLimited = false
    expect((await ask()).status).toBe(200)
  })
})

it.each([
  { is: 'nothing', typed: '' },
  { is: 'a name', typed: 'ada' },
  { is: 'two addresses', typed: 'ada@example.com eve@example.com' },
  { is: 'endless', typed: `${'a'.repeat(400)}@example.com` },
])('a mail to $is is refused without sending it', async ({ typed }) => {
  const page = await ask(typed)
  expect(page.status).toBe(400)
  expect(page.html).toContain('That is not an email address')
  expect(sends()).toBe(0)
})

it('a mailed code also allows a device and opens the connections page', async () => {
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
