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
  adasPassword,
  capabilitiesSample,
  providerSample,
  publicClient,
  secondFactorStep,
  signedIn,
  signInSample,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const turnstile = { kind: 'turnstile', siteKey: 'site-key' } as const

let sent: unknown[]
let failure: ProviderError | undefined

beforeEach(() => {
  sent = []
  failure = undefined
})

function provider(capabilities: Partial<ProviderCapabilities> = {}): SessionProvider {
  return providerSample({
    capabilities: async () => capabilitiesSample(capabilities),
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

it('the login page has no password form if the provider has passwords off, and a posted password is refused', async () => {
  const { browser, page } = await open(provider({ password: false }))
  expect(page.html).not.toContain('name="password"')
  expect(page.html).toMatch(/class="button primary deliberate"\s+name="provider"\s+value="google"/)
  const posted = await browser.submit(page, 'provider', adasPassword)
  expect(posted.status).toBe(400)
  expect(posted.html).toContain('turned off')
  expect(sent).toEqual([])
})

describe('the login page', () => {
  const signUpUrl = 'https://app.example.com/sign-up'

  it('the login page links to sign-up with the way back, on pages that a link can open again', async () => {
    const { browser, page } = await open(provider(), { signUpUrl })
    const back = encodeURIComponent(page.url.href).replaceAll('&', '&amp;')
    expect(page.html).toContain(`href="${signUpUrl}?return_to=${back}"`)
    failure = new ProviderError('invalid_credentials', 'no')
    const refused = await browser.submit(page, 'password', adasPassword)
    expect(refused.html).toContain(`href="${signUpUrl}"`)
    expect((await open(provider())).page.html).not.toContain('return_to')
  })

  it.each<[seconds: number, text: string]>([
    [30 * 86_400, '30 days'],
    [86_400, '1 day'],
    [3600, '60 minutes'],
    [90, '2 minutes'],
  ])(
    'the login page says how long the client stays connected: %i seconds',
    async (sessionTtlSeconds, text) => {
      expect((await open(provider(), { sessionTtlSeconds })).page.html).toContain(text)
    },
  )

  it.each<[failure: ProviderFailure, status: number, error: string]>([
    ['transient', 503, 'sign_in_unavailable'],
    ['rate_limited', 503, 'sign_in_unavailable'],
    ['protocol', 502, 'sign_in_broken'],
  ])(
    'the login page becomes an error page, which is reported, while the provider fails with %s',
    async (kind, status, error) => {
      const down = async (): Promise<never> => {
        throw new ProviderError(kind, 'the reason')
      }
      const { login, page } = await open({ ...provider(), capabilities: down })
      expect(page.status).toBe(status)
      expect(page.html).not.toContain('name="password"')
      expect(login.logged()).toContain(
        `{"event":"provider_failed","failure":"${kind}","message":"the reason"}`,
      )
      expect(login.logged()).toContain(error)
      const other = await open({ ...provider(), capabilities: down }).then(({ page: { html } }) => html)
      expect(other).toBe(page.html)
    },
  )

  it.each<
    [
      what: string,
      capabilities: Partial<ProviderCapabilities>,
      ways: Partial<SessionProvider>,
      fields: string[],
    ]
  >([
    ['nothing but what is offered', { password: false }, {}, ['provider']],
    ['a password', {}, {}, ['provider', 'password']],
    ['no password that the provider cannot take', {}, { passwordSignIn: undefined as never }, ['provider']],
    [
      'no single sign-on that it cannot start',
      { sso: true },
      { ssoStart: undefined as never },
      ['provider', 'password'],
    ],
    [
      'single sign-on',
      { sso: true },
      { ssoStart: async () => ({ url: 'https://idp', secret: 's' }) },
      ['provider', 'password', 'sso'],
    ],
    [
      'none that is not offered',
      {},
      { ssoStart: async () => ({ url: 'https://idp', secret: 's' }) },
      ['provider', 'password'],
    ],
    [
      'mails',
      { email: 'code' },
      { emailStart: async () => ({ secret: 's' }) },
      ['provider', 'password', 'email'],
    ],
    [
      'no mails that it cannot send',
      { email: 'code' },
      { emailStart: undefined as never },
      ['provider', 'password'],
    ],
  ])('the login page has %s', async (_what, capabilities, ways, fields) => {
    const { html } = (await open({ ...provider(capabilities), ...ways })).page
    const marks = {
      provider: 'value="google"',
      password: 'name="password"',
      sso: 'value="sso"',
      email: 'value="email"',
    }
    expect(Object.entries(marks).flatMap(([name, mark]) => (html.includes(mark) ? [name] : []))).toEqual(
      fields,
    )
  })
})

describe('a form', () => {
  it('the login page refuses a form that another site posts, and a body that is not a form', async () => {
    const { login, page } = await open(provider())
    const post = (headers: Record<string, string>, body: string): Promise<Response> =>
      Promise.resolve(
        login.fetch(new Request(page.url.origin + page.url.pathname, { method: 'POST', headers, body })),
      )
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const foreign = await post({ ...form, origin: 'https://evil.example' }, 'transaction=x')
    expect(foreign.status).toBe(403)
    const own = { origin: page.url.origin, 'sec-fetch-site': 'same-origin' }
    const unreadable = await post({ ...own, 'content-type': 'application/json' }, '{}')
    expect(unreadable.status).toBe(400)
    expect(login.logged()).toContain('form_unreadable')
    expect(sent).toEqual([])
  })
})

describe('captcha', () => {
  it('a captcha opens the policy of the login page only, for its vendor only', async () => {
    const asking = provider({ captcha: turnstile })
    const { browser, page } = await open({ ...asking, passwordSignIn: async () => secondFactorStep() })
    expect(policyOf(page)).toContain('script-src https://challenges.cloudflare.com;')
    expect(policyOf(page)).not.toContain('hcaptcha')
    const code = await browser.submit(page, 'password', {
      ...adasPassword,
      'cf-turnstile-response': 'response',
    })
    expect(code.html).toContain('Enter the code')
    expect(policyOf(code)).toBe(plainPolicy)
  })

  it('a form without a captcha response sends nothing, and the page keeps the email', async () => {
    const { browser, page } = await open(provider({ captcha: turnstile }))
    const refused = await browser.submit(page, 'password', adasPassword)
    expect(refused.status).toBe(400)
    expect(refused.html).toContain('The captcha is missing')
    expect(refused.html).toContain(`value="${adasPassword.email}"`)
    expect(policyOf(refused)).toContain('script-src')
    expect(sent).toEqual([])
  })

  it('a captcha that the provider demands and that is not configured is not on the page', async () => {
    const { browser, page } = await open(provider())
    failure = new ProviderError('captcha', 'captcha_failed')
    const refused = await browser.submit(page, 'password', adasPassword)
    expect(refused.html).toContain('not fully set up on this server')
    expect(refused.html).not.toContain('Complete it below')
  })
})

describe('the limit of sign-ins', () => {
  it.each<[what: string, field: string, fields: Record<string, string>]>([
    ['a password', 'password', adasPassword],
    ['a social sign-in', 'provider', { provider: 'google' }],
  ])(
    '%s over the limit of sign-ins gets 429 with Retry-After on the login page, and nothing is sent',
    async (_what, field, fields) => {
      const { login, browser, page } = await open(provider(), { limitPerMinute: 0 })
      const refused = await browser.submit(page, field, fields)
      expect(refused.status).toBe(429)
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
    expect(refused.status).toBe(status)
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
  ])('a first step that fails as %s is %i, with the next step', async (kind, status, text) => {
    const { browser, page } = await open(provider())
    failure = new ProviderError(kind, 'the message of the provider')
    const refused = await browser.submit(page, 'password', adasPassword)
    expect(refused.status).toBe(status)
    expect(refused.html).toContain(text)
    expect(refused.html).not.toContain('the message of the provider')
  })

  it('a refused social sign-in does not mention a password', async () => {
    const { browser, page } = await open(provider())
    await browser.submit(page, 'provider', { provider: 'google' })
    failure = new ProviderError('invalid_credentials', 'user_banned')
    const back = await browser.visit('http://localhost:8787/oauth/callback?code=social')
    expect(back.html).toContain('This account cannot sign in')
    expect(back.html).not.toContain('Wrong email or password')
  })
})

it('a store that fails after the sign-in is 503, and the provider session is ended', async () => {
  const out: unknown[] = []
  const signOut = async (session: unknown): Promise<void> => void out.push(session)
  const { login, browser, page } = await open({ ...provider(), signOut })
  login.shared.store.addAuthorizationCode = () =>
    Promise.reject(new StoreUnavailableError('down', { cause: undefined }))
  const failed = await browser.submit(page, 'password', adasPassword)
  expect(failed.status).toBe(503)
  expect(out).toEqual([signInSample().session])
})

describe('the browser that knows an account (OWASP Authentication Cheat Sheet, device cookies)', () => {
  const wrong = new ProviderError('invalid_credentials', 'no')

  /** Fails on purpose until the account accepts no more attempts from unknown browsers. */
  async function lock(login: LoginFixture): Promise<void> {
    failure = wrong
    for (let time = 0; time < 12; time += 1) {
      const stranger = login.browser(`198.51.100.${time}`)
      await stranger.submit(await login.open(stranger), 'password', adasPassword)
    }
    failure = undefined
  }

  it('failed attempts of an attacker lock out unknown browsers, not the owner’s', async () => {
    const { login, browser, page } = await open(provider())
    await browser.submit(page, 'password', adasPassword)
    await lock(login)
    const stranger = login.browser('203.0.113.1')
    const locked = await stranger.submit(await login.open(stranger), 'password', adasPassword)
    expect(locked.status).toBe(429)
    expect(locked.html).toContain('Wait 15 minutes')
    const own = await browser.submit(await login.open(browser), 'password', {
      ...adasPassword,
      email: ` ${adasPassword.email.toUpperCase()} `,
    })
    expect(own.url.searchParams.has('code')).toBe(true)
  })

  it('a refused sign-in does not make the browser known', async () => {
    const { login, browser, page } = await open(provider())
    failure = wrong
    await browser.submit(page, 'password', adasPassword)
    expect(browser.cookieHeader(page.url.href)).not.toContain('known')
    await lock(login)
    expect((await browser.submit(page, 'password', adasPassword)).status).toBe(429)
  })
})

async function timeOf(given: SessionProvider, fields: Record<string, string>): Promise<number[]> {
  const { login, browser, page } = await open(given)
  const slept: number[] = []
  login.runtime.sleep = async (ms) => void slept.push(ms)
  await browser.submit(page, 'password', fields)
  return slept
}

it('every refusal takes half a second, and the right password does not wait', async () => {
  failure = new ProviderError('rate_limited', 'no')
  const [slept = 0, ...more] = await timeOf(provider(), adasPassword)
  expect(slept).toBeGreaterThan(0)
  expect(slept).toBeLessThanOrEqual(500)
  expect(more).toEqual([])
  // Refusals that never reach the provider take as long.
  expect(await timeOf(provider(), { email: '', password: '' })).toHaveLength(1)
  failure = undefined
  expect(await timeOf(provider(), adasPassword)).toEqual([])
})

describe('a client whose document cannot be fetched', () => {
  const unavailable = new ClientUnavailableError('The document at https://claude.ai answers 503.')
  const operatorStep = 'npm start -- --client-documents off'
  const inTrial = new ClientUnavailableError('The document at claude.ai is away.', 'passing', {
    operatorStep,
  })
  const goneFrom = (login: LoginFixture, how: Error): void =>
    void (login.shared.store.findClient = () => Promise.reject(how))

  it('CIMD 4.3: GET /oauth/authorize for a client whose document cannot be fetched is 503 and a page with the next step', async () => {
    const { login, browser } = await open(provider())
    goneFrom(login, unavailable)
    const refused = await login.open(browser)
    expect(refused.status).toBe(503)
    expect(refused.response?.headers.get('retry-after')).toBe('5')
    expect(refused.html).toContain('This app cannot be checked right now')
    expect(refused.html).toContain(unavailable.message)
    expect(refused.html).toContain('connect again in the app')
    goneFrom(login, new ClientUnavailableError('Too many documents.', 'limited'))
    expect((await login.open(browser)).status).toBe(429)
    // In a trial the operator reads the page.
    goneFrom(login, inTrial)
    const { html } = await login.open(browser)
    expect(html).toContain(operatorStep)
    expect(html).not.toContain('server’s operator')
  })

  it('POST /oauth/authorize for a client whose document cannot be fetched is 503, and the password is not sent', async () => {
    const { login, browser, page } = await open(provider())
    goneFrom(login, unavailable)
    expect((await browser.submit(page, 'password', adasPassword)).status).toBe(503)
    expect(sent).toEqual([])
  })

  it.each<[what: string, found: () => Promise<undefined>, status: number]>([
    ['which cannot be checked', () => Promise.reject(unavailable), 503],
    ['which was removed meanwhile', async () => undefined, 400],
  ])(
    'a return from a social provider with a client whose document cannot be fetched, %s: the session is ended',
    async (_what, found, status) => {
      const out: unknown[] = []
      const signOut = async (session: unknown): Promise<void> => void out.push(session)
      const { login, browser, page } = await open(welcomingProvider({ signOut }))
      await browser.submit(page, 'provider', { provider: 'google' })
      login.shared.store.findClient = found
      const back = await browser.visit('http://localhost:8787/oauth/callback?code=social')
      expect([back.status, out]).toEqual([status, [signInSample().session]])
    },
  )
})

it.each(['password', 'provider'])(
  'an address that a client has taken back since the page was opened gets no code, and nobody is asked about the %s',
  async (field) => {
    const { login, browser, page } = await open(provider())
    const { store } = login.shared
    await store.replaceClient(publicClient({ redirectUris: ['http://127.0.0.1/elsewhere'] }))
    const late = await browser.submit(page, field, {
      ...adasPassword,
      ...(field === 'provider' && { provider: 'google' }),
    })
    expect(late.status).toBe(400)
    expect(late.html).toContain('remove this server and add it again')
    expect(sent).toEqual([])
  },
)

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
    expect(page.status).toBe(200)
    expect(/id="email"[^>]*value="([^"]*)"/.exec(page.html)?.[1]).toBe(shown)
    expect(sent).toEqual([])
  },
)
