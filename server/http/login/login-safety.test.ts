import { beforeEach, describe, expect, it } from 'vitest'
import { ClientUnavailableError } from '../../core/clients/client.ts'
import {
  type ProviderCapabilities,
  ProviderError,
  type ProviderFailure,
  type SessionProvider,
} from '../../core/session/session-provider.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  providerSample,
  publicClient,
  signedIn,
  signInSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const password = { email: 'ada@example.com', password: 'correct horse' }
const google = { id: 'google', label: 'Google' }

/** Calls that reached the provider. */
let sent: unknown[]
let failure: ProviderError | undefined

beforeEach(() => {
  sent = []
  failure = undefined
})

function provider(capabilities: Partial<ProviderCapabilities> = {}): SessionProvider {
  return providerSample({
    capabilities: async () => ({
      password: true,
      social: [google],
      captcha: undefined,
      confirmsEmail: true,
      ...capabilities,
    }),
    async passwordSignIn(input) {
      sent.push(input)
      if (failure) throw failure
      return signedIn()
    },
    async socialStart(input) {
      sent.push(input)
      return { url: 'https://provider/authorize', secret: 'secret' }
    },
    async socialFinish() {
      throw failure ?? new Error('nothing to answer')
    },
  })
}

async function open(
  given: SessionProvider,
  options: Parameters<typeof createLoginFixture>[1] = {},
): Promise<{ login: LoginFixture; browser: Browser; page: Visit }> {
  const login = await createLoginFixture(given, options)
  const browser = login.browser()
  return { login, browser, page: await login.open(browser) }
}

describe('the browser that knows an account (OWASP Authentication Cheat Sheet, device cookies)', () => {
  const wrong = new ProviderError('invalid_credentials', 'no')

  /** Fails on purpose until the account accepts no more attempts from unknown browsers. */
  async function lock(login: LoginFixture): Promise<void> {
    failure = wrong
    for (let time = 0; time < 12; time += 1) {
      const stranger = login.browser(`198.51.100.${time}`)
      await stranger.submit(await login.open(stranger), 'password', password)
    }
    failure = undefined
  }

  it('an attacker who fails on purpose locks strangers out, and not the owner’s browser', async () => {
    const { login, browser, page } = await open(provider())
    await browser.submit(page, 'password', password)
    await lock(login)
    const stranger = login.browser('203.0.113.1')
    const locked = await stranger.submit(await login.open(stranger), 'password', password)
    expect(locked.response?.status).toBe(429)
    expect(locked.html).toContain('Wait 15 minutes')
    const own = await browser.submit(await login.open(browser), 'password', {
      ...password,
      email: ` ${password.email.toUpperCase()} `,
    })
    expect(own.url.searchParams.has('code')).toBe(true)
  })

  it('a sign-in that was refused makes no browser known', async () => {
    const { login, browser, page } = await open(provider())
    failure = wrong
    await browser.submit(page, 'password', password)
    expect(browser.cookieHeader(page.url.href)).not.toContain('known')
    await lock(login)
    expect((await browser.submit(page, 'password', password)).response?.status).toBe(429)
  })
})

describe('how long a refused password takes', () => {
  async function timeOf(given: SessionProvider, fields: Record<string, string>): Promise<number[]> {
    const { login, browser, page } = await open(given)
    const slept: number[] = []
    login.runtime.sleep = async (ms) => void slept.push(ms)
    await browser.submit(page, 'password', fields)
    return slept
  }

  it.each<[what: string, failure: ProviderFailure]>([
    ['a wrong password or an unknown account', 'invalid_credentials'],
    ['an account over its limit', 'rate_limited'],
    ['an account that is not confirmed', 'email_unconfirmed'],
  ])('%s: half a second from the start', async (_what, kind) => {
    failure = new ProviderError(kind, kind)
    const [slept = 0, ...more] = await timeOf(provider(), password)
    expect(slept).toBeGreaterThan(0)
    expect(slept).toBeLessThanOrEqual(500)
    expect(more).toEqual([])
  })

  it('what never reaches the provider takes as long', async () => {
    expect(await timeOf(provider(), { email: '', password: '' })).toHaveLength(1)
  })

  it('the right password does not wait', async () => {
    expect(await timeOf(provider(), password)).toEqual([])
  })
})

describe('a client that nobody can say anything about right now', () => {
  const unavailable = new ClientUnavailableError('The document at https://claude.ai answers 503.')

  async function withUnavailable(): Promise<{
    login: LoginFixture
    browser: Browser
    page: Visit
    out: unknown[]
  }> {
    const out: unknown[] = []
    const signOut = async (session: unknown): Promise<void> => void out.push(session)
    const opened = await open({ ...provider(), signOut, socialFinish: async () => signedIn() })
    return { ...opened, out }
  }

  function fail(login: LoginFixture): void {
    login.shared.store.findClient = () => Promise.reject(unavailable)
  }

  it('CIMD 4.3: GET /oauth/authorize: 503 and a page with the next step', async () => {
    const { login, browser } = await withUnavailable()
    fail(login)
    const refused = await login.open(browser)
    expect(refused.response?.status).toBe(503)
    expect(refused.response?.headers.get('retry-after')).toBe('5')
    expect(refused.html).toContain('This app cannot be checked right now')
    expect(refused.html).toContain(unavailable.message)
    expect(refused.html).toContain('connect again in the app')
  })

  it('in a trial the next step is that of the operator, who reads it', async () => {
    const { login, browser } = await withUnavailable()
    const operatorStep = 'npm start -- --client-documents off'
    login.shared.store.findClient = () =>
      Promise.reject(new ClientUnavailableError('The document at claude.ai is away.', { operatorStep }))
    const { html } = await login.open(browser)
    expect(html).toContain(operatorStep)
    expect(html).not.toContain('server’s operator')
  })

  it('POST: the same, and the password is sent nowhere', async () => {
    const { login, browser, page } = await withUnavailable()
    fail(login)
    expect((await browser.submit(page, 'password', password)).response?.status).toBe(503)
    expect(sent).toEqual([])
  })

  it('on the way back from a social provider: the session that nobody gets is ended', async () => {
    const { login, browser, page, out } = await withUnavailable()
    await browser.submit(page, 'provider', { provider: 'google' })
    fail(login)
    const back = await browser.visit('http://localhost:8787/oauth/callback?code=social')
    expect(back.response?.status).toBe(503)
    expect(out).toEqual([signInSample().session])
  })

  it('a client that was removed meanwhile: so is its session', async () => {
    const { login, browser, page, out } = await withUnavailable()
    await browser.submit(page, 'provider', { provider: 'google' })
    login.shared.store.findClient = async () => undefined
    const back = await browser.visit('http://localhost:8787/oauth/callback?code=social')
    expect(back.html).toContain('This app is not registered here')
    expect(out).toEqual([signInSample().session])
  })
})

describe('an address that a client has taken back since the page was opened', () => {
  it.each(['password', 'provider'])('gets no code, and nobody is asked about the %s', async (field) => {
    const { login, browser, page } = await open(provider())
    const { store } = login.shared
    await store.replaceClient(publicClient({ redirectUris: ['http://127.0.0.1/elsewhere'] }))
    const late = await browser.submit(page, field, {
      ...password,
      ...(field === 'provider' && { provider: 'google' }),
    })
    expect(late.response?.status).toBe(400)
    expect(late.html).toContain('remove this server and add it again')
    expect(sent).toEqual([])
  })
})

describe('what the client asks the page to do (OpenID Connect Core 1.0 section 3.1.2.1)', () => {
  it.each<[prompt: string | undefined, shown: string]>([
    [undefined, 'ada@example.com'],
    ['login', 'ada@example.com'],
    ['consent', 'ada@example.com'],
    ['login consent', 'ada@example.com'],
    ['select_account', ''],
    ['consent select_account', ''],
  ])(
    'MCP auth Confused-Deputy, OAuth 2.1 4.1.1, OpenID Connect Core 3.1.2.1: login_hint with prompt=%s: the email field has %j, and a click is needed',
    async (prompt, shown) => {
      const { login, browser } = await open(provider())
      const url = login.authorizeUrl()
      url.searchParams.set('login_hint', 'ada@example.com')
      if (prompt !== undefined) url.searchParams.set('prompt', prompt)
      const page = await browser.visit(url)
      expect(page.response?.status).toBe(200)
      expect(/id="email"[^>]*value="([^"]*)"/.exec(page.html)?.[1]).toBe(shown)
      expect(sent).toEqual([])
    },
  )

  it('the page calls the web app by its name', async () => {
    const { page } = await open(provider())
    expect(page.html).toContain('Sign in with your account at <bdi>Notes</bdi>')
  })
})
