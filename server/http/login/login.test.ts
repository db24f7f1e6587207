import { beforeEach, describe, expect, it } from 'vitest'
import { ClientUnavailableError } from '../../core/clients/client.ts'
import {
  type ProviderCapabilities,
  ProviderError,
  type ProviderFailure,
  type SessionProvider,
} from '../../core/session/session-provider.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { plainPolicy } from '../../../tests/support/pages/view-sample.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  providerSample,
  publicClient,
  secondFactorStep,
  signedIn,
  signInSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const password = { email: 'ada@example.com', password: 'correct horse' }
const google = { id: 'google', label: 'Google' }
const turnstile = { kind: 'turnstile', siteKey: 'site-key' } as const

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

function policyOf(visit: Visit): string {
  return visit.response?.headers.get('content-security-policy') ?? ''
}

describe('what is offered', () => {
  const withoutPassword = (): SessionProvider => {
    const { passwordSignIn: _, ...others } = provider()
    return others
  }

  it.each<[rule: string, given: () => SessionProvider]>([
    ['has no such method', withoutPassword],
    ['has switched it off', () => provider({ password: false })],
  ])('no password form where the provider %s; a posted password is refused', async (_rule, given) => {
    const { browser, page } = await open(given())
    expect(page.html).not.toContain('name="password"')
    expect(page.html).toMatch(/class="button primary deliberate"\s+name="provider"\s+value="google"/)
    const posted = await browser.submit(page, 'provider', password)
    expect(posted.response?.status).toBe(400)
    expect(posted.html).toContain('turned off')
    expect(sent).toEqual([])
  })

  it('social methods go by the label that the provider gives them', async () => {
    const { page } = await open(provider({ social: [{ id: 'oidc', label: 'Example & Sons' }] }))
    expect(page.html).toContain('Continue with Example &amp; Sons and allow')
    expect(page.html).toContain('value="oidc"')
  })
})

describe('captcha', () => {
  it('opens the policy of the login page for its vendor, and of no other page', async () => {
    const asking = provider({ captcha: turnstile })
    const { browser, page } = await open({ ...asking, passwordSignIn: async () => secondFactorStep() })
    expect(policyOf(page)).toContain('script-src https://challenges.cloudflare.com;')
    expect(policyOf(page)).not.toContain('hcaptcha')
    const code = await browser.submit(page, 'password', { ...password, 'cf-turnstile-response': 'response' })
    expect(code.html).toContain('Enter the code')
    expect(policyOf(code)).toBe(plainPolicy)
  })

  it('without a response nothing is sent, and the page asks for it, email kept', async () => {
    const { browser, page } = await open(provider({ captcha: turnstile }))
    const refused = await browser.submit(page, 'password', password)
    expect(refused.response?.status).toBe(400)
    expect(refused.html).toContain('The captcha is missing')
    expect(refused.html).toContain(`value="${password.email}"`)
    expect(policyOf(refused)).toContain('script-src')
    expect(sent).toEqual([])
  })

  it.each([
    ['h-captcha-response', { kind: 'hcaptcha', siteKey: 'site-key' } as const],
    ['cf-turnstile-response', turnstile],
  ])('the response in %s goes to the provider', async (field, captcha) => {
    const { browser, page } = await open(provider({ captcha }))
    await browser.submit(page, 'password', { ...password, [field]: 'response' })
    expect(sent).toEqual([{ ...password, captchaToken: 'response' }])
  })

  it('demanded but not configured: the page does not send people back to a check that is not there', async () => {
    const { browser, page } = await open(provider())
    failure = new ProviderError('captcha', 'captcha_failed')
    const refused = await browser.submit(page, 'password', password)
    expect(refused.html).toContain('not fully set up on this server')
    expect(refused.html).not.toContain('Complete it below')
  })
})

describe('the limit of sign-ins', () => {
  it.each<[what: string, field: string, fields: Record<string, string>]>([
    ['a password', 'password', password],
    ['a social sign-in', 'provider', { provider: 'google' }],
  ])(
    '%s over it: 429 with Retry-After on the login page, and nothing is sent',
    async (_what, field, fields) => {
      const { login, browser, page } = await open(provider(), { limitPerMinute: 0 })
      const refused = await browser.submit(page, field, fields)
      expect(refused.response?.status).toBe(429)
      expect(refused.response?.headers.get('retry-after')).toBe('60')
      expect(refused.html).toContain('Too many attempts')
      expect(sent).toEqual([])
      expect(login.logged()).toContain('"failure":"rate_limited"')
    },
  )

  it.each([
    ['?code=social', 503, '17', 'reload this page'],
    ['?error=temporarily_unavailable', 400, null, 'several sign-ins open'],
  ])('an outage on the way back of one of two tabs: %s is %i', async (query, status, retryAfter, text) => {
    const { browser, page } = await open(provider())
    await browser.submit(page, 'provider', { provider: 'google' })
    await browser.submit(page, 'provider', { provider: 'google' })
    failure = new ProviderError('transient', 'down', { retryAfterSeconds: 17 })
    const refused = await browser.visit(`http://localhost:8787/oauth/callback${query}`)
    expect(refused.response?.status).toBe(status)
    expect(refused.response?.headers.get('retry-after')).toBe(retryAfter)
    expect(refused.html).toContain(text)
    expect(refused.html).not.toContain('Sample')
  })
})

describe('a failed first step', () => {
  it.each<[failure: ProviderFailure, status: number, text: string]>([
    ['second_factor_missing', 400, 'Turn it on in the web app'],
    ['second_factor_unusable', 400, 'Add an authenticator app'],
    ['email_unconfirmed', 400, 'Open the link in the confirmation email'],
    ['transient', 503, 'Try again in a moment'],
  ])('%s: %i, with the next step', async (kind, status, text) => {
    const { browser, page } = await open(provider())
    failure = new ProviderError(kind, 'the message of the provider')
    const refused = await browser.submit(page, 'password', password)
    expect(refused.response?.status).toBe(status)
    expect(refused.html).toContain(text)
    expect(refused.html).not.toContain('the message of the provider')
  })

  it('after a social sign-in nothing is said about a password', async () => {
    const { browser, page } = await open(provider())
    await browser.submit(page, 'provider', { provider: 'google' })
    failure = new ProviderError('invalid_credentials', 'user_banned')
    const back = await browser.visit('http://localhost:8787/oauth/callback?code=social')
    expect(back.html).toContain('This account cannot sign in')
    expect(back.html).not.toContain('Wrong email or password')
  })
})

describe('a store that fails after the sign-in', () => {
  it('503, and the session that nobody holds is ended at the provider', async () => {
    const out: unknown[] = []
    const signOut = async (session: unknown): Promise<void> => void out.push(session)
    const { login, browser, page } = await open({ ...provider(), signOut })
    login.shared.store.addAuthorizationCode = () =>
      Promise.reject(new StoreUnavailableError('down', { cause: undefined }))
    const failed = await browser.submit(page, 'password', password)
    expect(failed.response?.status).toBe(503)
    expect(out).toEqual([signInSample().session])
  })
})

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
})
