import { beforeEach, describe, expect, it } from 'vitest'
import {
  ProviderError,
  type ProviderFailure,
  type SessionProvider,
} from '../../core/session/session-provider.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  adasPassword,
  secondFactorStep,
  signInSample,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const rightCode = '123456'

let login: LoginFixture
let browser: Browser
let failure: ProviderFailure | undefined
let factors: string[]
/** Codes that reached the provider, each with its factor. */
let sent: string[]

function provider(): SessionProvider {
  const step = () => secondFactorStep(factors.map((id) => ({ id, label: `My ${id}` })))
  return welcomingProvider({
    passwordSignIn: async () => step(),
    socialFinish: async () => step(),
    signOut: async () => {},
    async verifySecondFactor({ factorId, code }) {
      sent.push(`${factorId} ${code}`)
      if (failure) throw new ProviderError(failure, 'the message of the provider')
      if (code !== rightCode) throw new ProviderError('wrong_code', 'wrong')
      return signInSample('whole')
    },
  })
}

beforeEach(async () => {
  sent = []
  failure = undefined
  factors = ['phone']
  login = await createLoginFixture(provider())
  browser = login.browser()
})

/** Signs in with the password and returns the page that asks for the code. */
async function toCodePage(): Promise<Visit> {
  return browser.submit(await login.open(browser), 'password', adasPassword)
}

function enter(at: Visit, code: string, fields: Record<string, string> = {}): Promise<Visit> {
  return browser.submit(at, 'code', { code, ...fields })
}

describe('the second step', () => {
  it('the login asks for the second factor after a social sign-in too', async () => {
    const away = await browser.submit(await login.open(browser), 'provider', { provider: 'google' })
    expect(away.url.origin).toBe('https://provider')
    const page = await browser.visit('http://localhost:8787/oauth/callback?code=social')
    expect(page.status).toBe(200)
    const done = await enter(page, rightCode)
    expect(done.url.searchParams.has('code')).toBe(true)
  })

  it('OAuth 2.1 7.3: the second-factor page shows who asks and for what, and cannot be framed, scripted or cached', async () => {
    const page = await toCodePage()
    expect(page.html).toContain('“<bdi>Sample</bdi>”')
    expect(page.html).toContain('127.0.0.1')
    expect(page.html).toContain('Stay connected for 30 days')
    expect(page.response?.headers.get('content-security-policy')).not.toContain('script-src')
    expect(page.response?.headers.get('x-frame-options')).toBe('DENY')
    expect(page.response?.headers.get('cache-control')).toBe('no-store')
  })

  it('the second-factor code is checked against the chosen factor', async () => {
    factors = ['phone', 'tablet']
    const page = await toCodePage()
    expect(page.html).toContain('My tablet')
    const wrong = await enter(page, '000000', { factor: 'tablet' })
    expect(wrong.html).toMatch(/value="tablet"\s+checked/)
    await enter(wrong, rightCode)
    expect(sent).toEqual(['tablet 000000', `tablet ${rightCode}`])
  })

  it('a sign-in with a second factor puts no code, password or token into the log or a URL', async () => {
    const page = await toCodePage()
    await enter(page, '000000')
    const done = await enter(page, rightCode)
    for (const secret of ['000000', rightCode, adasPassword.password, 'provider-access-token']) {
      expect(login.logged()).not.toContain(secret)
      expect(done.url.href).not.toContain(secret)
    }
  })
})

it('the second-factor page counts wrong codes down, and the fifth leads back to the login page', async () => {
  let page = await toCodePage()
  for (const left of [
    '4\u00a0attempts are',
    '3\u00a0attempts are',
    '2\u00a0attempts are',
    'One attempt is',
  ]) {
    page = await enter(page, '000000')
    expect(page.html).toContain(`${left} left.`)
  }
  page = await enter(page, '000000')
  expect(page.status).toBe(400)
  expect(page.html).toContain('Too many wrong codes')
  expect(await login.toSignOut()).toHaveLength(1)
  const again = await browser.submit(page, 'password', adasPassword)
  expect((await enter(again, rightCode)).url.searchParams.has('code')).toBe(true)
})

describe('a provider that cannot check the code', () => {
  it.each<[failure: ProviderFailure, status: number, retryAfter: string | undefined, text: string]>([
    ['transient', 503, '5', 'cannot be reached right now'],
    ['rate_limited', 429, '60', 'Too many attempts'],
    ['protocol', 502, undefined, 'unexpected response'],
  ])(
    'a sign-in stays open when the provider cannot check the code and answers %s, with status %i',
    async (kind, code, retryAfter, text) => {
      const page = await toCodePage()
      failure = kind
      const failed = await enter(page, rightCode)
      expect(failed.status).toBe(code)
      expect(failed.response?.headers.get('retry-after') ?? undefined).toBe(retryAfter)
      expect(failed.html).toContain(text)
      expect(failed.html).not.toContain('the message of the provider')
      failure = undefined
      expect((await enter(failed, rightCode)).url.searchParams.has('code')).toBe(true)
    },
  )

  it.each<[failure: ProviderFailure, text: string]>([
    ['terminal', 'Sign in again.'],
    ['invalid_token', 'Sign in again.'],
    ['invalid_credentials', 'This account cannot sign in'],
    ['second_factor_unusable', 'Add an authenticator app'],
    ['disabled', 'turned off'],
  ])(
    'a provider that answers %s ends the sign-in, and the login page says what to do',
    async (kind, text) => {
      const page = await toCodePage()
      failure = kind
      const over = await enter(page, rightCode)
      expect(over.status).toBe(400)
      expect(over.html).toContain(text)
      expect(over.html).toContain('name="password"')
      expect(await login.toSignOut()).toHaveLength(1)
    },
  )
})

describe('a second-factor page that can no longer be used', () => {
  it('after ten minutes the second-factor page leads to the login page, which says why', async () => {
    const page = await toCodePage()
    login.runtime.advance(601)
    const late = await enter(page, rightCode)
    expect(late.status).toBe(400)
    expect(late.html).toContain('expired after ten minutes')
    expect(sent).toEqual([])
    const again = await browser.submit(late, 'password', adasPassword)
    expect((await enter(again, rightCode)).url.searchParams.has('code')).toBe(true)
  })

  it('the second-factor page contains nothing of the pending sign-in unsealed', async () => {
    const page = await toCodePage()
    const names = [...page.html.matchAll(/<input type="hidden" name="([^"]*)"/g)].map(([, name]) => name)
    expect(new Set(names)).toEqual(new Set(['transaction']))
  })

  it('a pending sign-in completes only the request that it was begun for', async () => {
    const connections = 'http://localhost:8787/account/connections'
    const asked = await browser.submit(await browser.visit(connections), 'password', adasPassword)
    const waiting = /name="transaction" value="([^"]*)"/.exec(asked.html)?.[1] ?? ''
    // However a form is forged: the login page of a client with the code of the other one, and vice versa.
    const allow = await login.open(browser)
    const tampered = await browser.submit(allow, 'password', {
      ...adasPassword,
      code: rightCode,
      second_factor: waiting,
    })
    expect(tampered.url.searchParams.has('code')).toBe(false)
    expect(sent).toEqual([])
    const done = await browser.submit(asked, 'code', { code: rightCode })
    expect(done.url.href).toBe(connections)
    expect(done.html).toContain('Your connections')
  })
})

it('cancelling sends the client access_denied and signs out the incomplete session', async () => {
  const page = await toCodePage()
  const { url } = await browser.submit(page, 'action', { action: 'deny' })
  expect(url.searchParams.get('error')).toBe('access_denied')
  expect(await login.toSignOut()).toHaveLength(1)
  expect((await enter(page, rightCode)).html).toContain('was already completed or cancelled')
})
