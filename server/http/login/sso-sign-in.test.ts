import { beforeEach, describe, expect, it } from 'vitest'
import type { Captcha } from '../../core/session/session-provider.ts'
import type { AccessRule } from '../../core/access/access-rules.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import { accessSample } from '../../../tests/support/server/core/access-sample.ts'
import { authorizationRequest } from '../../../tests/support/server/core/sign-in-sample.ts'
import {
  createLoginFixture,
  type LoginFixture,
  type LoginFixtureOptions,
} from '../../../tests/support/server/login-fixture.ts'
import { captchaSamples } from '../../../tests/support/pages/view-sample.ts'
import { type GotrueFixture, startGotrue } from '../../../tests/support/server/supabase-fixture.ts'
import { chooseAt } from '../../../tests/support/sandbox/provider-fixture.ts'
import { computeTotp } from '../../sandbox/provider/accounts/totp.ts'
import { ssoProvider } from '../../sandbox/provider/api/social-api.ts'

const email = 'lin@company.example'
const label = 'Continue with single sign\u2011on and allow'
let gotrue: GotrueFixture
let login: LoginFixture
let browser: Browser
/** Domains that the provider was asked for. */
let asked: string[]

interface Options extends Omit<LoginFixtureOptions, 'access'> {
  /** False: neither password nor mail. */
  password?: boolean
  captcha?: Captcha
  rules?: AccessRule[]
}

async function open({ password = true, captcha, rules, ...options }: Options = {}): Promise<void> {
  gotrue = startGotrue()
  asked = []
  const provider = gotrue.configured({ password, captcha, social: ['google'] }, async (request) => {
    if (request.url.endsWith('/sso'))
      asked.push(((await request.clone().json()) as { domain: string }).domain)
    return gotrue.embedded.fetch(request)
  })
  login = await createLoginFixture(provider, {
    ...options,
    ...(rules && { access: accessSample(rules, provider) }),
  })
  browser = login.browser('192.0.2.1')
}

beforeEach(() => open())

it('a page with single sign-on alone has the captcha that the provider asks for', async () => {
  await open({ password: false, captcha: captchaSamples.turnstile })
  gotrue.embedded.admin.setCaptcha({ secret: 'solved' })
  const page = await login.open(browser)
  expect(page.html).not.toContain('id="password"')
  expect(page.html).toContain(`data-sitekey="${captchaSamples.turnstile.siteKey}"`)
  expect((await leave(page)).html).toContain('captcha is missing')
  const solved = { email, action: 'sso', 'cf-turnstile-response': 'solved' }
  expect((await browser.submit(page, 'email', solved)).response).toBeUndefined()
})

it('a server starts at most thirty single sign-ons in five minutes, the limit of Supabase', async () => {
  await open({ limitPerMinute: 20 })
  let left = 30
  for (let second = 0; second < 900; second += 5) {
    const by = login.browser(`198.51.100.${second / 5}`)
    const before = asked.length
    await leave(await login.open(by), email, by)
    left = Math.min(30, left + 0.5) - (asked.length - before)
    expect(left).toBeGreaterThanOrEqual(0)
    for (const clock of [gotrue.runtime, login.runtime]) clock.advance(5)
  }
  expect(asked.length).toBeGreaterThan(50)
})

/** Presses the button; the browser ends at the identity provider, or stays here. */
const leave = (page: Visit, typed: string = email, by: Browser = browser): Promise<Visit> =>
  by.submit(page, 'email', { email: typed, action: 'sso' })

/** Signs in there, and returns where the provider sends the browser. */
const signInThere = (at: Visit, person = 'Lin'): Promise<URL> =>
  chooseAt(gotrue.embedded, at.url.href, person)

async function walk(page: Visit, person?: string, by: Browser = browser): Promise<Visit> {
  return by.visit((await signInThere(await leave(page, email, by), person)).href)
}

function expectCode(done: Visit): void {
  expect(`${done.url.origin}${done.url.pathname}`).toBe(authorizationRequest().redirectUri)
  expect(done.url.searchParams.has('code')).toBe(true)
}

async function userId(): Promise<string> {
  const { id } = gotrue.embedded.services.accounts.findByIdentity(ssoProvider, 'employee-1')!
  return id
}

describe('single sign-on', () => {
  it('single sign-on works for a client, a device and the connections page', async () => {
    expectCode(await walk(await login.open(browser)))
    expect(login.logged()).toContain('"event":"signed_in"')
    expect(login.logged()).not.toContain('company.example')
    const device = await login.startDevice()
    const page = await browser.visit(device.verification_uri_complete)
    const start = page.html.includes('id="email"')
      ? page
      : await browser.submit(page, 'user_code', { user_code: device.user_code })
    expect(start.html).toContain(label)
    expect((await walk(start)).html).toContain('Your device can connect now')
    expect(await login.pollDevice(device.device_code)).toBe('approved')
    const account = await browser.visit('http://localhost:8787/account/connections')
    expect(account.html).toContain('Continue with single sign\u2011on')
    expect(account.html).not.toContain(label)
    expect((await walk(account)).html).toContain(email)
  })

  it('single sign-on accepts an email address or a domain', async () => {
    expectCode(
      await browser.visit(
        (await signInThere(await leave(await login.open(browser), 'Company.example'))).href,
      ),
    )
    expect(asked).toEqual(['company.example'])
  })

  it('single sign-on has its own form if no other way is offered', async () => {
    await open({ password: false })
    const page = await login.open(browser)
    expect(page.html).toContain('Work email or company domain')
    expect(page.html).not.toContain('id="password"')
    expectCode(await walk(page))
  })

  it('single sign-on asks for the second factor of an account that has one', async () => {
    await walk(await login.open(browser))
    const { secret } = gotrue.embedded.admin.enrollTotp(await userId())
    const page = await walk(await login.open(browser))
    expect(page.html).toContain('Confirm and allow')
    expectCode(await browser.submit(page, 'code', { code: computeTotp(secret, gotrue.runtime.now()) }))
  })

  it.each([
    ['people of the company', ssoProvider, true],
    ['people with a password', 'email', false],
  ])('the access rules apply to single sign-on: %s', async (_who, provider, allowed) => {
    await open({ rules: [{ effect: 'allow', conditions: { provider: [provider] } }] })
    const done = await walk(await login.open(browser))
    if (allowed) return expectCode(done)
    expect(done.status).toBe(403)
    expect(gotrue.embedded.admin.listSessions(await userId())).toEqual([])
  })
})

describe('a refusal', () => {
  it.each([
    ['of an unknown domain', 'ada@other.example', 'not set up for that domain', ['other.example']],
    ['of what is no domain', 'ada', 'has no domain in it', []],
  ])(
    'single sign-on refused for %s says what to do, and the form still works',
    async (_what, typed, text, sent) => {
      const page = await leave(await login.open(browser), typed)
      expect(page.status).toBe(400)
      expect(page.html).toContain(text)
      expect(page.html).toContain(`value="${typed}"`)
      expect(asked).toEqual(sent)
      expectCode(await walk(page))
    },
  )

  it('a refusal at the company ends at the web app, and the login page can be used again', async () => {
    const page = await login.open(browser)
    const denied = await signInThere(await leave(page), 'Deny')
    expect(denied.href).toMatch(/^http:\/\/localhost:8788\/\?error=/)
    expectCode(await walk(page))
  })
})
