import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  captchaSamples,
  deviceSample,
  inEnglish,
  loginSample,
  loopbackSample,
  requestSample,
  plainLook,
  plainPolicy,
} from '../../../tests/support/pages/view-sample.ts'
import { captchaPolicy, captchaTokenIn, captchaWidget } from './captcha.ts'
import { contentSecurityPolicy } from './layout.ts'
import { loginPage, type LoginView } from './login-page.ts'
import type { RequestView } from './sign-in-subject.ts'

const asking = (part: Partial<RequestView>): Partial<LoginView> => ({
  subject: { ...requestSample, ...part },
})
const forms = (page: string): string[] => page.match(/<form[\s\S]*?<\/form>/g) ?? []

describe('what is offered', () => {
  const password = ['name="email"', 'name="password"', 'Sign in and allow']
  const google = ['name="provider"', 'value="google"', 'Continue with Google and allow']
  const warning = [
    'A program on this computer is asking. Continue only if you started it.',
    'on this computer',
  ]
  const unchecked = ['This name is not verified']
  const rows: readonly [string, Partial<LoginView>, readonly string[], readonly string[]][] = [
    ['both methods', {}, [...password, ...google, '>or<'], []],
    ['password only', { social: [] }, password, [...google, '>or<']],
    ['social only', { password: false }, google, [...password, '>or<']],
    ['no method', { password: false, social: [] }, ['uses are not offered here'], [...password, ...google]],
    ['verified client', {}, ['Verified address', 'Requested by'], [...unchecked, ...warning]],
    [
      'RFC 7591 5: unverified client',
      asking({ client: { name: 'x' } }),
      unchecked,
      ['Verified address', 'Requested by'],
    ],
    ['loopback only', { ...loopbackSample }, [...warning, ...unchecked], ['Verified address']],
    [
      'MCP security Confused-Deputy: permissions',
      {},
      ['What signing in allows', 'Stay connected for 30 days'],
      [],
    ],
    ['no permissions', asking({ permissions: [] }), [], ['What signing in allows', '<ul']],
    ['no error', {}, [], ['role="alert"', 'aria-describedby', 'autofocus', 'Not signed in']],
    [
      'an error',
      { error: 'Wrong.' },
      ['role="alert"', 'aria-describedby="form-error"', 'Not signed in: '],
      [],
    ],
    ['an email', { email: 'a@b.example' }, ['value="a@b.example"'], ['autofocus']],
    ['no email', {}, ['value=""'], []],
    ['a link by mail', { emailMethod: 'link' }, ['Email me a link'], ['Email me a code']],
    ['both by mail', { emailMethod: 'both' }, ['Email me a code or link'], []],
    [
      'an address for signing up',
      { signUpUrl: 'https://x.example/new' },
      ['href="https://x.example/new"'],
      [],
    ],
    ['the app', {}, ['href="https://notes.example.com"', 'Create one at Example Notes'], []],
    ['cancel', {}, ['name="action" value="deny" formnovalidate'], []],
  ]
  test.each(rows)('%s', (_case, part, present, absent) => {
    const page = loginPage({ ...loginSample, ...part })
    for (const text of present) expect(page).toContain(text)
    for (const text of absent) expect(page).not.toContain(text)
  })

  test('after an error the focus is on the password, or on the email field if that is empty', () => {
    const focused = (email?: string): string | undefined =>
      /<input[^>]*name="(\w+)"[^>]*autofocus/.exec(
        loginPage({ ...loginSample, error: 'Wrong.', ...(email === undefined ? {} : { email }) }),
      )?.[1]
    expect(focused('a@b.example')).toBe('password')
    expect(focused()).toBe('email')
  })
})

describe('what signing in is for', () => {
  const device: Partial<LoginView> = { subject: deviceSample }
  const account: Partial<LoginView> = { subject: { kind: 'account' } }
  const rows: readonly [string, Partial<LoginView>, readonly string[], readonly string[]][] = [
    [
      'RFC 8628 3.3: a device by its code, the address that it asked from, when, and its client',
      device,
      [
        'WDJB-MJHT',
        '203.0.113.7',
        '2 minutes ago',
        '“<bdi>Drawbridge bridge</bdi>”',
        'Stay connected for 30 days',
      ],
      ['Returns to', 'on this computer'],
    ],
    [
      'RFC 8628 5.4: a device with the warning of remote phishing',
      device,
      ['Continue only if you started this yourself, on a device in front of you'],
      [],
    ],
    [
      'a device that nobody knows the address of',
      { subject: { ...deviceSample, address: undefined } },
      ['An unknown address'],
      ['203.0.113.7'],
    ],
    [
      'a host that any program can name is not called verified',
      device,
      ['bridge.example.com', 'Any program can claim this', 'This name is not verified'],
      ['Verified address', 'About bridge.example.com'],
    ],
    [
      'a client of the operator',
      asking({ client: { name: 'x', vouched: true } }),
      ['Set up by the server’s operator', 'Known here as'],
      ['This name is not verified', 'Calls itself'],
    ],
    [
      'one’s own connections: nothing is allowed, and there is nobody to refuse',
      account,
      ['Sign in to manage your connections', '>Sign in</button>', 'Continue with Google\n'],
      ['and allow', 'What signing in allows', 'name="action"'],
    ],
  ]
  test.each(rows)('%s', (_case, part, present, absent) => {
    const page = loginPage({ ...loginSample, ...part })
    for (const text of present) expect(page).toContain(text)
    for (const text of absent) expect(page).not.toContain(text)
  })

  test.each<[title: string, part: Partial<LoginView>]>([
    ['Sign in to allow access for a device', device],
    ['Sign in to manage your connections', account],
    // The proven host, never the claimed name.
    ['Sign in to allow access for claude.ai', {}],
    ['Sign in to allow access for 127.0.0.1', loopbackSample],
  ])('the tab of the login page has the title: %s', (title, part) => {
    expect(loginPage({ ...loginSample, ...part })).toContain(`<title>${title} · Drawbridge</title>`)
  })
})

describe('captcha', () => {
  const script = /<script src="([^"]*)" async defer><\/script>/
  const hidden = { password: false, captcha: captchaSamples.hcaptcha }

  test.each([
    ['hcaptcha', 'https://js.hcaptcha.com/1/api.js', 'class="h-captcha"'],
    ['turnstile', 'https://challenges.cloudflare.com/turnstile/v0/api.js', 'class="cf-turnstile"'],
  ] as const)('the %s captcha is in the password form, between password and button', (kind, url, slot) => {
    const captcha = captchaSamples[kind]
    const page = loginPage({ ...loginSample, captcha })
    expect(script.exec(page)?.[1]).toMatch(new RegExp(`^${url}(?:\\?|$)`))
    const [password = ''] = forms(page)
    expect(password).toContain(`data-sitekey="${captcha.siteKey}"`)
    const places = ['type="password"', slot, 'Sign in and allow'].map((text) => password.indexOf(text))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
  })

  test.each([
    ['without a captcha', {}],
    ['without a password form', hidden],
  ])('the login page has no captcha %s', (_case, part) => {
    const page = loginPage({ ...loginSample, ...part })
    expect(page).not.toMatch(/<script|class="captcha"|<noscript/)
  })

  test.each([
    ['and another way is named', loginSample.social, 'use another sign-in method below'],
    ['and no other way is promised', [], 'reload this page.'],
  ])('without JavaScript the captcha says what is missing, %s', (_case, social, text) => {
    const page = loginPage({ ...loginSample, social, captcha: captchaSamples.turnstile })
    const sentence = /<noscript>[\s\S]*<\/noscript>/.exec(page)?.[0] ?? ''
    expect(sentence).toContain('captcha needs JavaScript')
    expect(sentence).toContain(text)
  })
})

const everything: Partial<LoginView> = { emailMethod: 'code', sso: true }
const names = new Map([
  ['Sign in and allow', 'password'],
  ['Email me a code', 'email'],
  ['Continue with Google and allow', 'google'],
  ['Continue with single sign\u2011on and allow', 'sso'],
])
/** The buttons of each form, the primary one in brackets. */
const buttons = (part: Partial<LoginView>): string =>
  forms(loginPage({ ...loginSample, ...part }))
    .map((form) =>
      [...form.matchAll(/<button\s+class="button (primary|secondary)[^>]*>\s*([^<]*?)\s*<\/button>/g)]
        .map(([, rank, text = '']) => (rank === 'primary' ? `[${names.get(text)}]` : names.get(text)))
        .join(' '),
    )
    .filter(Boolean)
    .join(' | ')

test.each<[part: Partial<LoginView>, expected: string]>([
  [{}, '[password] email sso | google'],
  [{ sso: false }, '[password] email | google'],
  [{ emailMethod: undefined }, '[password] sso | google'],
  [{ password: false }, '[email] sso | google'],
  [{ password: false, social: [] }, '[email] sso'],
  [{ password: false, emailMethod: undefined }, '[google] | sso'],
  [{ password: false, emailMethod: undefined, social: [] }, '[sso]'],
])('the login page orders the ways to sign in, with %j: %s', (part, expected) => {
  expect(buttons({ ...everything, ...part })).toBe(expected)
})

describe('single sign-on', () => {
  const alone: Partial<LoginView> = { password: false, social: [], sso: true }

  test('single sign-on alone has a field for the domain, which has the focus after an error', () => {
    const [form = ''] = forms(loginPage({ ...loginSample, ...alone, email: 'x.example', error: 'No.' }))
    expect(form).toContain('Work email or company domain')
    expect(form).toMatch(/type="text"[^>]*autofocus/)
    expect(forms(loginPage({ ...loginSample, ...alone, subject: { kind: 'account' } }))[0]).toMatch(
      />\s*Continue with single sign\u2011on\s*</,
    )
  })

  test('single sign-on shares the email field, whose form accepts a domain', () => {
    const [form = ''] = forms(loginPage({ ...loginSample, sso: true }))
    expect(form).toContain('type="email"')
    expect(form).toMatch(/<button[^>]*name="action"\s+value="sso"\s+formnovalidate/)
  })

  test('single sign-on has the captcha if the provider asks for one', () => {
    const page = loginPage({ ...loginSample, ...alone, captcha: captchaSamples.turnstile })
    expect(page).toContain('<script src=')
    expect(forms(page)[0]).toContain('class="captcha"')
  })
})

describe('forms', () => {
  test('each form of the login page posts to the action with the transaction', () => {
    const found = forms(loginPage(loginSample))
    expect(found).toHaveLength(3)
    for (const form of found) {
      expect(form).toContain('method="post" action="/oauth/authorize"')
      expect(form).toContain(`<input type="hidden" name="transaction" value="${loginSample.transaction}"`)
    }
  })

  test('the forms for password, social sign-in and cancelling are separate', () => {
    const [password, social, cancel] = forms(loginPage(loginSample))
    expect(password).toMatch(/name="email"\s+type="email"\s+inputmode="email"\s+autocomplete="username"/)
    expect(password).toMatch(/type="password"\s+autocomplete="current-password"/)
    expect(password).not.toContain('name="provider"')
    expect(password).not.toContain('name="action"')
    expect(social).not.toContain('name="password"')
    expect(cancel).not.toContain('name="provider"')
  })

  test('Spec 4: the login page has no sign-up form', () => {
    const page = loginPage(loginSample)
    expect(page).not.toContain('new-password')
    expect(page).not.toMatch(/<button[^>]*>[^<]*(sign up|create|register)/i)
  })
})

describe('who asks', () => {
  test('the verified host comes before the claimed name, which is quoted and isolated', () => {
    const page = loginPage(loginSample)
    const host = page.indexOf('<bdi class="host">claude.ai</bdi>')
    const name = page.indexOf('“<bdi>Claude</bdi>”')
    expect(host).toBeGreaterThan(0)
    expect(name).toBeGreaterThan(host)
  })

  test.each([
    [{ describedBy: 'claude.ai' }, 'Any program can claim this'],
    [{ describedBy: 'claude.ai', returnsElsewhere: true }, ', but it returns to a different address'],
  ])('the login page says that a host is not verified: %j', (client, note) => {
    const page = loginPage({ ...loginSample, ...asking({ client: { name: 'Claude', ...client } }) })
    expect(page).toContain(note)
    expect(page).not.toContain('Verified address')
    expect(page).toContain('This name is not verified')
  })

  test.each([
    ['on the verified host', { verifiedHost: 'claude.ai', uri: 'https://claude.ai/about' }, true],
    ['elsewhere', { verifiedHost: 'claude.ai', uri: 'https://claude.example/about' }, false],
    ['on a subdomain', { verifiedHost: 'claude.ai', uri: 'https://x.claude.ai/' }, false],
    ['without https', { verifiedHost: 'claude.ai', uri: 'http://claude.ai/about' }, false],
    ['a script', { verifiedHost: 'claude.ai', uri: 'javascript:alert(1)' }, false],
    ['no URL', { verifiedHost: 'claude.ai', uri: 'about us' }, false],
    ['of an unverified client', { uri: 'https://claude.ai/about' }, false],
  ])('the login page links the client’s own page only on its verified host: %s', (_case, client, linked) => {
    const page = loginPage({ ...loginSample, ...asking({ client: { name: 'Claude', ...client } }) })
    expect(page.includes('About claude.ai')).toBe(linked)
    expect(page.includes(client.uri)).toBe(linked)
  })
})

/** Returns directives of the policy with this captcha that differ from the ordinary one. */
function opened(kind: 'hcaptcha' | 'turnstile'): string[] {
  const usual = new Set(plainPolicy.split('; '))
  return contentSecurityPolicy(plainLook, captchaPolicy(captchaSamples[kind]))
    .replaceAll(/sha256-[\w+/]{43}=/g, 'HASH')
    .split('; ')
    .filter((directive) => !usual.has(directive))
}

describe('the policy opens exactly as the vendor documents', () => {
  test('the policy of the login page opens for hcaptcha exactly as the vendor documents', () => {
    expect(opened('hcaptcha')).toEqual([
      "script-src 'HASH' https://hcaptcha.com https://*.hcaptcha.com",
      "style-src 'HASH' https://hcaptcha.com https://*.hcaptcha.com",
      'frame-src https://hcaptcha.com https://*.hcaptcha.com',
      'connect-src https://hcaptcha.com https://*.hcaptcha.com',
    ])
  })

  test('the policy of the login page opens for turnstile exactly as the vendor documents', () => {
    expect(opened('turnstile').filter((directive) => !directive.startsWith('style-src'))).toEqual([
      'script-src https://challenges.cloudflare.com',
      'frame-src https://challenges.cloudflare.com',
    ])
  })
})

test('the script that picks the colours of hCaptcha is the one that the policy names', () => {
  const widget = String(captchaWidget(captchaSamples.hcaptcha, { elsewhere: true, texts: inEnglish.texts }))
  const script = /<script>([^<]*)<\/script>/.exec(widget)?.[1] ?? ''
  const hash = createHash('sha256').update(script).digest('base64')
  expect(captchaPolicy(captchaSamples.hcaptcha).script).toContain(`'sha256-${hash}'`)
})

test.each(['h-captcha-response', 'cf-turnstile-response'])(
  'the captcha response is read from %s',
  (field) => {
    expect(captchaTokenIn(new URLSearchParams({ email: 'a@example.com', [field]: 'solved' }))).toBe('solved')
  },
)
