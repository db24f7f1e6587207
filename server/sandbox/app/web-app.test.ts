import { writeSessionCookies } from '@drawbridge/shared/session-cookie/session-cookie-write.ts'
import { describe, expect, it, vi } from 'vitest'
import {
  createFakeBrowser,
  type FakeBrowser,
  type Page,
} from '../../../tests/support/sandbox/browser-fixture.ts'
import {
  openWebApp,
  type ProviderFixture,
  SITE,
  startProvider,
} from '../../../tests/support/sandbox/provider-fixture.ts'
import { signUp } from '../provider/api/auth-api.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const COOKIE = 'sb-localhost-auth-token'

function openSite() {
  const provider = startProvider()
  const app = openWebApp(provider)
  const fetch = (request: Request): Promise<Response> =>
    /^\/(auth\/v1|google)\//.test(new URL(request.url).pathname)
      ? provider.fetch(request)
      : app.fetch(request)
  const browser = (language = 'en'): FakeBrowser =>
    createFakeBrowser(SITE, (request) => {
      request.headers.set('accept-language', language)
      return fetch(request)
    })
  return { provider, app, fetch, browser }
}

/** Opens a site with a browser in which Ada has just signed up. */
async function signedUp() {
  const site = openSite()
  const browser = site.browser()
  const welcome = await browser.post('/sign-up', ADA)
  return { ...site, browser, welcome }
}

/** Starts to sign in with Google, and chooses the account with that label there, or denies. */
async function throughGoogle(browser: FakeBrowser, label: string) {
  const choose = await browser.post('/sign-in/google', {})
  expect(browser.url().pathname).toBe('/google/authorize')
  const state = /name="state" value="([^"]*)"/.exec(choose.text)?.[1] ?? ''
  const button = new RegExp(`value="(\\w+)"[^>]*>(?:(?!</button>).)*${label}`, 's')
  return () => browser.post('/google/choose', { state, account: button.exec(choose.text)?.[1] ?? '' })
}

const keep = ({ cookies }: FakeBrowser, name: string, value: string): unknown =>
  cookies.set(name, { value, path: '/', attributes: '' })

const base64 = (value: object): string => `base64-${Buffer.from(JSON.stringify(value)).toString('base64url')}`

const sessionsOfAda = ({ admin }: ProviderFixture) => admin.listSessions(admin.findUser(ADA.email)?.id ?? '')

const alertOf = (page: { text: string }): string | undefined =>
  /role="alert".*?<span>([^<]*)<\/span>/s.exec(page.text)?.[1]

describe('a user of the demo app', () => {
  it('a user signs up, writes a note, deletes it and signs out', async () => {
    const { browser, welcome } = await signedUp()
    expect(browser.url().pathname).toBe('/notes')
    expect(welcome.text).toContain('ada@example.com')
    expect(welcome.text).toContain('<code class="host" id="mcp-url">http://localhost:8787/mcp</code>')

    const added = await browser.post('/notes', { text: '  Bring the <ladder> & "rope"\r\nat eight ' })
    expect(added.text).toContain(
      '<p class="text">Bring the &lt;ladder&gt; &amp; &quot;rope&quot;\nat eight</p>',
    )

    const id = /name="id" value="([^"]+)"/.exec(added.text)?.[1] ?? ''
    const deleted = await browser.post('/notes/delete', { id })
    expect(deleted.text).not.toContain('ladder')
    expect((await browser.post('/notes/delete', { id })).status).toBe(200)

    await browser.post('/sign-out', {})
    expect(browser.url().pathname).toBe('/')
    expect([...browser.cookies.keys()]).toEqual([])
    expect((await browser.post('/sign-out', {})).status).toBe(200)
  })

  it('a user signs in with a password and finds earlier notes', async () => {
    const { browser: first, fetch } = await signedUp()
    await first.post('/notes', { text: 'still here' })
    const second = createFakeBrowser(SITE, fetch)
    const page = await second.post('/sign-in', { ...ADA, email: ' Ada@Example.com ' })
    expect(second.url().pathname).toBe('/notes')
    expect(page.text).toContain('still here')
    await second.get('/')
    expect(second.url().pathname).toBe('/notes')
  })

  it('a user who signs out in one browser stays signed in in another', async () => {
    const { browser: first, fetch } = await signedUp()
    const second = createFakeBrowser(SITE, fetch)
    await second.post('/sign-in', ADA)
    await first.post('/sign-out', {})
    await second.get('/notes')
    expect(second.url().pathname).toBe('/notes')
  })

  it('a user signs in with Google and comes back', async () => {
    const browser = openSite().browser()
    const page = await (await throughGoogle(browser, 'Ada Example'))()
    expect(browser.url().href).toBe(`${SITE}/notes`)
    expect(page.text).toContain('ada@google.example')
    expect([...browser.cookies.keys()].filter((name) => name.includes('verifier'))).toEqual([])
  })

  it('a user who denies at Google sees why', async () => {
    const page = await (await throughGoogle(openSite().browser(), 'Deny'))()
    expect(page.status).toBe(400)
    expect(alertOf(page)).toBe('Google sign-in was cancelled. Nothing was shared.')
  })

  it.each([
    ['/sign-in', ADA.email, 'wrong', 'That email and password do not match an account.'],
    ['/sign-in', 'eve@example.com', 'wrong', 'That email and password do not match an account.'],
    [
      '/sign-up',
      'ADA@Example.com',
      ADA.password,
      'An account with this address already exists. Sign in instead.',
    ],
    ['/sign-up', 'eve@example.com', '12345', 'Choose a longer password: at least 6 characters.'],
    ['/sign-up', 'no address', '123456', 'Check the email address and the password.'],
  ])('posting to %s with %s and "%s" shows "%s"', async (path, email, password, alert) => {
    const { browser: open, provider } = openSite()
    await provider.admin.createUser(ADA)
    const browser = open()
    const page = await browser.post(path, { email, password })
    expect(page.status).toBe(422)
    expect(alertOf(page)).toBe(alert)
    expect(page.text).toContain(`value="${email}"`)
    expect(page.text).not.toContain(password)
    expect(page.text).toMatch(/<title>Error: /)
    expect([...browser.cookies.keys()]).toEqual([])
  })

  it.each(['   ', 'x'.repeat(2001)])(
    'the demo app refuses the note %j, saying how long a note may be',
    async (text) => {
      const { browser } = await signedUp()
      const page = await browser.post('/notes', { text })
      expect(page.status).toBe(422)
      expect(page.text).toContain('A note has 1 to 2,000 characters.')
      expect((await browser.get('/notes')).text).not.toContain('class="connection"')
    },
  )
})

describe.each(['en', 'de'] as const)('the demo app in %s', (language) => {
  const short = { email: 'eve@example.com', password: '12345' }
  it.each<
    [page: string, open: (browser: FakeBrowser) => Promise<Page>, texts: Record<'en' | 'de', string[]>]
  >([
    [
      'the first page',
      (browser) => browser.get('/'),
      {
        en: ['Sign in', 'Continue with Google', 'New here?'],
        de: ['Anmelden', 'Weiter mit Google', 'Neu hier?'],
      },
    ],
    [
      'a refused sign-in',
      (browser) => browser.post('/sign-in', short),
      {
        en: ['Error: Sign in', 'do not match an account.'],
        de: ['Fehler: Anmelden', 'Passwort gibt es kein Konto.'],
      },
    ],
    [
      'a refused sign-up',
      (browser) => browser.post('/sign-up', short),
      {
        en: ['Error: Create an account', 'Choose a longer password'],
        de: ['Fehler: Konto erstellen', 'Wählen Sie ein längeres Passwort'],
      },
    ],
    [
      'the notes',
      (browser) => browser.post('/sign-up', ADA),
      {
        en: ['Signed in as ada@example.com.', 'Up to 2,000 characters', ' Copy ', 'No notes yet'],
        de: [
          'Angemeldet als ada@example.com.',
          'Höchstens 2.000 Zeichen',
          ' Kopieren ',
          'Noch keine Notizen',
        ],
      },
    ],
    [
      'the mail',
      (browser) => browser.get('/mail'),
      {
        en: ['No mail yet.', 'Authenticator app of otp@company.example', 'Code: '],
        de: ['Noch keine Mail.', 'Authenticator-App von otp@company.example', 'Code: '],
      },
    ],
    [
      'a missing page',
      (browser) => browser.get('/nowhere'),
      { en: ['Page not found', 'Back to the start'], de: ['Seite nicht gefunden', 'Zurück zum Start'] },
    ],
    [
      'a foreign form',
      (browser) => browser.post('/sign-in', ADA, { origin: 'http://localhost:9999' }),
      { en: ['Refused'], de: ['Abgelehnt'] },
    ],
  ])('the demo app shows %s in the language of the browser', async (_page, open, texts) => {
    const { text, headers } = await open(openSite().browser(language))
    expect(headers.get('content-language')).toBe(language)
    expect(text).toContain(`<html lang="${language}">`)
    const plain = text.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ')
    for (const expected of texts[language]) expect(plain).toContain(expected)
  })
})

describe('the session cookie', () => {
  it('the session cookie has the attributes of the vendor library, and is not accepted by the API', async () => {
    const { browser } = await signedUp()
    expect(browser.cookies.get(COOKIE)?.attributes).toMatch(/^Max-Age=34560000; Path=\/; SameSite=Lax$/)
    expect((await browser.get('/api/notes')).status).toBe(401)
  })

  it('sign-out ends the session and removes every chunk of its cookie, and no other cookie', async () => {
    const { browser, provider } = openSite()
    const person = browser()
    const session = { ...(await signUp(provider.services, ADA)), padding: 'x'.repeat(9000) }
    for (const name of ['other', `${COOKIE}-code-verifier`]) keep(person, name, '1')
    for (const { name, value } of writeSessionCookies(session, { name: COOKIE })) keep(person, name, value)
    await person.post('/sign-out', {})
    expect([...person.cookies.keys()]).toEqual(['other', `${COOKIE}-code-verifier`])
    expect(sessionsOfAda(provider)).toEqual([])
  })

  it.each<[string, (session: object) => string]>([
    ['JSON without base64', (session) => encodeURIComponent(JSON.stringify(session))],
    ['a session without a refresh token', (session) => base64({ ...session, refresh_token: undefined })],
  ])('the demo app does not refresh a cookie that it did not write: %s', async (_what, write) => {
    const { browser, provider } = openSite()
    const session = await signUp(provider.services, ADA)
    provider.runtime.advance(3600)
    const person = browser()
    keep(person, COOKIE, write(session))
    await person.get('/notes')
    expect(person.url().pathname).toBe('/')
    expect(sessionsOfAda(provider)).toMatchObject([{ refreshCounter: 0 }])
  })

  it('the demo app refreshes the session once when its token has expired', async () => {
    const { browser, provider } = await signedUp()
    const before = browser.cookies.get(COOKIE)?.value
    await browser.get('/notes')
    expect(browser.cookies.get(COOKIE)?.value).toBe(before)
    provider.runtime.advance(3600)
    expect((await browser.get('/notes')).status).toBe(200)
    expect(browser.cookies.get(COOKIE)?.value).not.toBe(before)
    expect(sessionsOfAda(provider)).toMatchObject([{ refreshCounter: 1 }])
  })

  it('the demo app drops the cookie of an ended session', async () => {
    const { browser, provider } = await signedUp()
    for (const { id } of sessionsOfAda(provider)) provider.admin.endSession(id)
    await browser.get('/notes')
    expect(browser.url().pathname).toBe('/')
    expect(browser.cookies.size).toBe(0)
  })

  it.each([0, 3600])(
    'the demo app keeps the cookie while the provider fails, and shows no details, %i seconds on',
    async (seconds) => {
      const { browser, provider } = await signedUp()
      provider.runtime.advance(seconds)
      vi.spyOn(provider.services.accounts, 'get').mockImplementationOnce(() => {
        throw new Error('The disk is full.')
      })
      const page = await browser.get('/notes')
      expect(page.status).toBe(500)
      expect(page.text).toContain('That did not work')
      expect(page.text).not.toMatch(/disk|at file|Error:/i)
      expect(browser.cookies.has(COOKIE)).toBe(true)
      expect((await browser.get('/notes')).status).toBe(200)
    },
  )

  it.each(['base64-!!', 'base64-e30', 'nonsense'])(
    'the demo app drops the cookie if its value is %s',
    async (value) => {
      const browser = openSite().browser()
      keep(browser, COOKIE, value)
      await browser.get('/notes')
      expect(browser.url().pathname).toBe('/')
      expect(browser.cookies.has(COOKIE)).toBe(false)
    },
  )
})

describe('a form', () => {
  it('the demo app refuses forms of another origin', async () => {
    const { browser } = await signedUp()
    const headers = { origin: 'http://localhost:9999', 'sec-fetch-site': 'same-site' }
    const paths = [
      '/notes',
      '/notes/delete',
      '/connections',
      '/sign-out',
      '/sign-in',
      '/sign-up',
      '/sign-in/google',
    ]
    for (const path of paths) {
      const page = await browser.post(path, { text: 'forged', ...ADA }, headers)
      expect([path, page.status]).toEqual([path, 403])
    }
    expect((await browser.get('/notes')).text).not.toContain('forged')
  })

  it('the demo app refuses forms of more than 64 KiB', async () => {
    const { browser } = await signedUp()
    expect((await browser.post('/notes', { text: 'x'.repeat(70_000) })).status).toBe(413)
  })
})

describe('the return from Google', () => {
  it('the demo app refuses the return from Google in a browser that did not start it', async () => {
    const { browser: open } = openSite()
    const attacker = open()
    const choose = await throughGoogle(attacker, 'Ada Example')
    const verifier = [...attacker.cookies].find(([name]) => name.includes('verifier'))
    attacker.cookies.clear()
    await choose()
    const victim = open()
    const stolen = await victim.get(attacker.url().href)
    expect(stolen.status).toBe(400)
    expect(alertOf(stolen)).toMatch(/another browser/)
    expect([...victim.cookies.keys()]).toEqual([])
    expect(verifier?.[1]).toMatchObject({ path: '/auth/callback' })
    expect(verifier?.[1].attributes).toContain('HttpOnly')
  })

  it.each([
    { query: 'error=access_denied', alert: 'Google sign-in was cancelled. Nothing was shared.' },
    { query: 'error=access_denied&error_code=user_banned', alert: 'This account cannot sign in.' },
    { query: 'error=x&error_description=<script>', alert: 'The sign-in did not work. Try again.' },
    { query: '', alert: 'The sign-in did not work. Try again.' },
  ])('the demo app explains the return from Google with "$query"', async ({ query, alert }) => {
    const page = await openSite().browser().get(`/auth/callback?${query}`)
    expect(page.status).toBe(400)
    expect(alertOf(page)).toBe(alert)
    expect(page.text).not.toContain('<script>')
  })

  it('the return of an unknown sign-in shows the first page with a reason', async () => {
    const browser = openSite().browser()
    const page = await browser.get('/auth/v1/callback?state=forgotten&code=x')
    expect(browser.url().pathname).toBe('/')
    expect(alertOf(page)).toMatch(/no longer valid/)
  })
})

describe('every page', () => {
  it.each(['/', '/sign-up', '/notes', '/nowhere'])(
    '%s has strict headers and no script except the one that copies',
    async (path) => {
      const { browser } = await signedUp()
      if (path !== '/notes') browser.cookies.clear()
      const { headers, text } = await browser.get(path)
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("base-uri 'none'")
      expect(policy).toContain("connect-src 'self' http://localhost:8787;")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(text).not.toMatch(/style="|\son\w+=/)
      const scripts = [...text.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = '']) => script)
      expect(text.split('<script')).toHaveLength(scripts.length + 1)
      expect(scripts).toHaveLength(path === '/notes' ? 1 : 0)
      for (const script of scripts) {
        const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(script))
        expect(policy).toContain(`script-src 'sha256-${Buffer.from(digest).toString('base64')}'`)
      }
      const style = /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? ''
      const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style))
      expect(policy).toContain(`'sha256-${Buffer.from(hash).toString('base64')}'`)
      expect(text).toContain('Demo web app for Drawbridge, on this computer only')
      expect(text).toContain('<a class="link" href="/mail">')
      expect(text).toContain('<html lang="en">')
    },
  )

  it('the demo app redirects visitors who are not signed in to the first page', async () => {
    const browser = openSite().browser()
    await browser.get('/notes')
    expect(browser.url().pathname).toBe('/')
    await browser.post('/notes', { text: 'x' })
    expect(browser.url().pathname).toBe('/')
  })
})

describe('a visitor from a sign-in page of the MCP server', () => {
  const returnTo = 'http://localhost:8787/oauth/authorize?client_id=a&state=b'

  it('sign-up returns to the sign-in page that linked to it, after a mistake too', async () => {
    const browser = openSite().browser()
    const page = await browser.get(`/sign-up?return_to=${encodeURIComponent(returnTo)}`)
    const escaped = returnTo.replaceAll('&', '&amp;')
    expect(page.text).toContain(`<a class="link" href="${escaped}">Sign in</a>`)
    // Its way would not lead back.
    expect(page.text).not.toContain('Google')
    const refused = await browser.post('/sign-up', { ...ADA, password: 'short', return_to: returnTo })
    expect(refused.text).toContain(`name="return_to" value="${escaped}"`)
    const response = await openSite().app.fetch(
      new Request(`${SITE}/sign-up`, {
        method: 'POST',
        headers: { origin: SITE },
        body: new URLSearchParams({ ...ADA, return_to: returnTo }),
      }),
    )
    expect([response.status, response.headers.get('location')]).toEqual([303, returnTo])
    expect(response.headers.getSetCookie()).not.toEqual([])
  })

  it.each([
    'https://evil.example/',
    '//evil.example',
    'javascript:alert(1)',
    'http://localhost:8787@evil.example',
  ])('sign-up never redirects to %s', async (target) => {
    const browser = openSite().browser()
    await browser.post('/sign-up', { ...ADA, return_to: target })
    expect(browser.url().href).toBe(`${SITE}/notes`)
  })
})

describe('the mail page', () => {
  it('the mail page shows mails newest first, and as JSON for programs', async () => {
    const { provider, app } = await signedUp()
    const show = (accept: string) => app.fetch(new Request(`${SITE}/mail`, { headers: { accept } }))
    expect(await (await show('text/html')).text()).toContain('No mail yet')
    const email = 'ada@example.com'
    await provider.call('POST', '/otp', { email, create_user: false })
    provider.runtime.advance(60)
    await provider.call('POST', '/otp', { email, create_user: false, code_challenge: 'x'.repeat(43) })
    const answer = await show('application/json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const mails = (await answer.json()) as Record<string, string>[]
    // The token of a link and the id of its account are for the provider alone.
    const shown = ['to', 'subject', 'code', 'sentAt']
    expect(mails.map((mail) => Object.keys(mail))).toEqual([
      ['to', 'subject', 'code', 'link', 'sentAt'],
      shown,
    ])
    expect(mails.map(({ to, code, link }) => [to, /^\d{6}$/.test(code ?? ''), link !== undefined])).toEqual([
      [email, true, true],
      [email, true, false],
    ])
    const page = await (await show('text/html')).text()
    for (const { code = '' } of mails) expect(page).toContain(code)
    expect(page.indexOf(mails[0]?.['code'] ?? '')).toBeLessThan(page.lastIndexOf(mails[1]?.['code'] ?? ''))
    expect(page).toContain('Sign in with this link')
  })
})
