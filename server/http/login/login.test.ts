import { beforeEach, describe, expect, it } from 'vitest'
import {
  type ProviderCapabilities,
  ProviderError,
  type ProviderFailure,
  type SessionProvider,
} from '../../core/session/session-provider.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  providerSample,
  secondFactorStep,
  signedIn,
  signInSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { pageContentSecurityPolicy } from '../pages/layout.ts'

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
    expect(policyOf(code)).toBe(pageContentSecurityPolicy)
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
