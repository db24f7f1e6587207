import file from '../../../shared/vectors/session-cookies.json' with { type: 'json' }
import { describe, expect, it, test } from 'vitest'
import {
  createMemoryBrowser,
  type MemoryBrowser,
  type MemoryCookie,
  type MemoryTab,
  newCookie,
  newTab,
} from '../../../tests/support/extension/platform/memory-browser.ts'
import { readSessions, type SessionsReading } from './session-reader.ts'
import type { Profile } from '../profile.ts'
import { originPatterns } from '../site.ts'
import {
  appAllowed,
  cookieName,
  jwt,
  now,
  secrets,
  sessionCookies,
  sessionJson,
} from '../../../tests/support/extension/core/session-fixture.ts'

const profileOf = (name: string | undefined): Profile => {
  return { id: 'p', label: 'P', appUrl: 'https://app.example.com', baseUrl: undefined, cookieName: name }
}

async function readFrom(browser: MemoryBrowser, name?: string): Promise<SessionsReading> {
  const tab = await browser.tab()
  if (tab === undefined) throw new Error('There is no tab.')
  return readSessions(browser, tab, profileOf(name))
}

const tokensIn = (reading: SessionsReading): string[] =>
  reading.kind === 'sessions' ? reading.sessions.map(({ token }) => token) : []

describe('every cookie vector', () => {
  type Vector = (typeof file.vectors)[number]
  function jarOf({ cookies, attributes }: Vector): MemoryCookie[] {
    return cookies.map(({ name, value }, index) => {
      const { domain = 'app.example.com', hostOnly = true } = attributes?.[index] ?? {}
      return newCookie({ name, value, httpOnly: true, domain: domain.replace(/^\./, ''), hostOnly })
    })
  }

  test.each(file.vectors.map((vector) => [vector.id, vector] as const))(
    'the cookie vector %s is read as specified',
    async (_id, vector) => {
      const browser = createMemoryBrowser({
        now: file.meta.now,
        cookies: jarOf(vector),
        // One vector has cookies of the parent domain, which Chromium shows only with permission for it.
        allowed: new Set([...appAllowed, ...originPatterns('https://example.com')]),
      })
      // Twice: found by its default name, and by the profile's name.
      for (const name of [undefined, vector.cookie_name]) {
        const reading = await readFrom(browser, name)
        const { expect: wanted } = vector
        const isUsual = vector.cookie_name === file.meta.cookie_name
        if (wanted.error === 'absent' || (name === undefined && !isUsual)) {
          expect(reading).toEqual({ kind: 'none', mayRead: true })
        } else if (wanted.error === 'invalid') {
          expect(reading).toMatchObject({ kind: 'invalid', project: file.meta.project_ref })
        } else {
          const session =
            reading.kind === 'sessions' && reading.sessions.find(({ view }) => view.id === vector.cookie_name)
          expect(session).toMatchObject({
            token: wanted.access_token,
            view: {
              project: isUsual ? file.meta.project_ref : vector.cookie_name,
              account: 'ada@example.com',
              expiresAt: wanted.expires_at,
            },
          })
        }
        const all = vector.all_sessions?.map(({ access_token }) => access_token)
        if (all) expect(tokensIn(reading).toSorted()).toEqual(all.toSorted())
      }
    },
  )
})

describe('reading by permission', () => {
  const httpOnly = sessionCookies(jwt(), { httpOnly: true, size: 100 })

  it('the reader finds nothing without a click and without permission', async () => {
    const browser = createMemoryBrowser({ tabs: [newTab({ clicked: false })], cookies: httpOnly })
    expect(await readFrom(browser)).toEqual({ kind: 'none', mayRead: false })
  })

  it('after a click the reader finds only sessions that scripts of the page see', async () => {
    const browser = createMemoryBrowser({ cookies: httpOnly })
    expect(await readFrom(browser)).toEqual({ kind: 'none', mayRead: false })
    browser.world.cookies = sessionCookies(jwt(), { size: 100 })
    expect(tokensIn(await readFrom(browser))).toEqual([jwt()])
  })

  it('with permission the reader finds every session, also if scripts are refused', async () => {
    const tabs = [newTab({ clicked: false, refusesScripts: true })]
    const browser = createMemoryBrowser({ tabs, cookies: httpOnly, allowed: new Set(appAllowed) })
    expect(tokensIn(await readFrom(browser))).toEqual([jwt()])
    browser.world.cookies = []
    expect(await readFrom(browser)).toMatchObject({ kind: 'none', mayRead: true })
  })

  it('the reader needs permission for both schemes: cookies without Secure belong to http', async () => {
    const browser = createMemoryBrowser({
      cookies: httpOnly,
      allowed: new Set(['https://app.example.com/*']),
    })
    expect(await readFrom(browser)).toEqual({ kind: 'none', mayRead: false })
    browser.world.cookies = sessionCookies(jwt(), { httpOnly: true, secure: true })
    expect(tokensIn(await readFrom(browser))).toEqual([jwt()])
  })

  it.each([
    ['a container', 'firefox-container-3'],
    ['a private window', 'firefox-private'],
  ])('the reader reads the cookies of the tab’s store: %s', async (_case, storeId) => {
    const cookies = [
      ...sessionCookies(jwt()),
      ...sessionCookies(jwt({ email: 'grace@example.com' }), { storeId }),
    ]
    const browser = createMemoryBrowser({
      cookies,
      allowed: new Set(appAllowed),
      tabs: [newTab({ storeId })],
    })
    const reading = await readFrom(browser)
    expect(reading).toMatchObject({ sessions: [{ view: { account: 'grace@example.com' } }] })
    expect(tokensIn(reading)).toHaveLength(1)
  })

  it('reading survives the failure of any part', async () => {
    const browser = createMemoryBrowser({ cookies: httpOnly, allowed: new Set(appAllowed) })
    const fail = (): Promise<never> => Promise.reject(new Error('The tab is gone.'))
    const parts = { cookies: fail, page: fail, mayRead: fail }
    const tab = { id: 1, url: 'https://app.example.com/', incognito: false }
    expect(await readSessions({ ...browser, ...parts }, tab, undefined)).toEqual({
      kind: 'none',
      mayRead: false,
    })
    expect(tokensIn(await readSessions({ ...browser, page: fail }, tab, undefined))).toEqual([jwt()])
  })
})

describe('chunks', () => {
  const [first, second] = sessionCookies(jwt(), { size: 450 }) as [MemoryCookie, MemoryCookie]
  const others: Partial<MemoryCookie>[] = [
    { path: '/admin' },
    { domain: 'example.com', hostOnly: false },
    { partition: 'https://example.com', secure: true },
  ]

  test.each(others)('the reader does not join chunks with those of %j', async (other) => {
    const url = 'https://app.example.com/admin/'
    const cookies = [first, { ...second, ...other }]
    const browser = createMemoryBrowser({
      cookies,
      allowed: new Set([...appAllowed, 'http://example.com/*']),
      tabs: [newTab({ url })],
    })
    // A page sees a single list without these details.
    browser.world.tabs = [newTab({ url, refusesScripts: true })]
    expect(await readFrom(browser)).toMatchObject({ kind: 'invalid', project: 'abc' })
    browser.world.cookies = [first, { ...second, ...other }, { ...first, ...other }]
    expect(tokensIn(await readFrom(browser))).toEqual([jwt()])
  })
})

describe('places', () => {
  const places = (reading: SessionsReading): string[] =>
    reading.kind === 'sessions' ? reading.sessions.map(({ view }) => `${view.id} ${view.place}`) : []
  const withStorage = (localStorage: MemoryTab['localStorage']): MemoryTab[] => [newTab({ localStorage })]

  it('the reader reads plain JSON from local storage, with literal percent signs', async () => {
    const token = jwt()
    const json = sessionJson(token).replace('ada@example.com"}', '100%22 \uD800"}')
    const reading = await readFrom(createMemoryBrowser({ tabs: withStorage({ [cookieName]: json }) }))
    expect(reading).toMatchObject({ sessions: [{ token, view: { place: 'local-storage', project: 'abc' } }] })
  })

  it('the reader shows the same token in several places once, as the cookie', async () => {
    const tabs = withStorage({ [cookieName]: sessionJson(jwt()), 'sb-copy-auth-token': sessionJson(jwt()) })
    const partitioned = sessionCookies(jwt(), { partition: 'https://app.example.com', secure: true })
    const cookies = [...sessionCookies(jwt(), { httpOnly: true }), ...partitioned]
    const reading = await readFrom(createMemoryBrowser({ tabs, cookies, allowed: new Set(appAllowed) }))
    expect(places(reading)).toEqual([`${cookieName} cookie`])
  })

  it('the reader says that a cookie is partitioned', async () => {
    const cookies = sessionCookies(jwt(), { partition: 'https://example.com', secure: true, httpOnly: true })
    const browser = createMemoryBrowser({ cookies, allowed: new Set(appAllowed) })
    expect(places(await readFrom(browser))).toEqual([`${cookieName} partitioned-cookie`])
    for (const cookie of browser.world.cookies) cookie.partition = 'https://elsewhere.example'
    expect(await readFrom(browser)).toMatchObject({ kind: 'none' })
  })

  it('the reader prefers the browser’s cookies to those of the page', async () => {
    const tabs = withStorage({ [cookieName]: sessionJson(jwt({ sub: 'page' })) })
    const cookies = [
      ...sessionCookies(jwt({ sub: 'http-only' }), { httpOnly: true }),
      ...sessionCookies(jwt({ sub: 'page' }), { path: '/' }),
    ]
    const reading = await readFrom(createMemoryBrowser({ tabs, cookies, allowed: new Set(appAllowed) }))
    expect(tokensIn(reading)).toEqual([jwt({ sub: 'http-only' })])
  })

  it('the reader prefers active sessions to expired ones, wherever they are', async () => {
    const over = jwt({ exp: now - 1 })
    const tabs = withStorage({ [cookieName]: sessionJson(jwt()) })
    const reading = await readFrom(createMemoryBrowser({ tabs, cookies: sessionCookies(over) }))
    expect(tokensIn(reading)).toEqual([jwt()])
    const both = createMemoryBrowser({
      cookies: [...sessionCookies(over), ...sessionCookies(jwt({ exp: now }), { path: '/' })],
    })
    expect(tokensIn(await readFrom(both))).toEqual([over])
  })
})

describe('several sessions', () => {
  const other = 'sb-other-auth-token'
  const cookies = [
    ...sessionCookies(jwt({ exp: now - 5 }), { name: 'sb-old-auth-token' }),
    ...sessionCookies(jwt({ sub: 'a' })),
    ...sessionCookies(jwt({ sub: 'b' }), { name: other }),
    newCookie({ name: 'sb-broken-auth-token', value: 'x' }),
    newCookie({ name: `${cookieName}-code-verifier`, value: sessionJson(jwt({ sub: 'verifier' })) }),
  ]

  const projects = async (name?: string, jar = cookies): Promise<string[]> => {
    const reading = await readFrom(createMemoryBrowser({ cookies: jar }), name)
    return reading.kind === 'sessions' ? reading.sessions.map(({ view }) => view.project) : []
  }

  it('the reader lists sessions as found, expired ones last, and broken ones not at all', async () => {
    expect(await projects()).toEqual(['abc', 'other', 'old'])
  })

  it('the reader lists the session of the profile first, whatever its state', async () => {
    expect(await projects(other)).toEqual(['other', 'abc', 'old'])
    expect(await projects('sb-old-auth-token')).toEqual(['old', 'abc', 'other'])
    expect(await projects('absent')).toEqual(['abc', 'other', 'old'])
    const reversed = cookies.toReversed()
    expect(await projects(other, reversed)).toEqual(['other', 'abc', 'old'])
    expect(await projects('sb-old-auth-token', reversed)).toEqual(['old', 'other', 'abc'])
  })
})

describe('names', () => {
  test.each([
    'session',
    '__Secure-app.session',
    '__proto__',
    'constructor',
    'supabase-auth-token',
    'a.0',
    'sb-[::1]-x',
  ])('the reader reads a session named %j by the profile, from cookies and local storage', async (name) => {
    for (const size of [Infinity, 200]) {
      const cookies = sessionCookies(jwt(), { name, size, httpOnly: size === 200 })
      const reading = await readFrom(createMemoryBrowser({ cookies, allowed: new Set(appAllowed) }), name)
      expect(reading).toMatchObject({ sessions: [{ token: jwt(), view: { project: name, id: name } }] })
    }
    const localStorage = Object.fromEntries([[name, sessionJson(jwt())]])
    const reading = await readFrom(createMemoryBrowser({ tabs: [newTab({ localStorage })] }), name)
    expect(tokensIn(reading)).toEqual([jwt()])
  })

  it('the reader knows the cookie name of the oldest library', async () => {
    const cookies = [
      newCookie({
        name: 'supabase-auth-token',
        value: encodeURIComponent(JSON.stringify([jwt(), secrets[0]])),
      }),
    ]
    expect(await readFrom(createMemoryBrowser({ cookies }))).toMatchObject({ sessions: [{ token: jwt() }] })
  })
})

describe('tokens', () => {
  test.each(['a\r\nX-Evil: 1', 'a b', "a'; rm -rf ~ #", 'a"b', 'töken', 'a\u0000', '=', '<b>'])(
    'the token %j, which could break out of its place, is rejected',
    async (token) => {
      const cookies = [
        newCookie({ name: cookieName, value: encodeURIComponent(JSON.stringify({ access_token: token })) }),
      ]
      expect(await readFrom(createMemoryBrowser({ cookies }))).toMatchObject({
        kind: 'invalid',
        reason: 'no-access-token',
      })
    },
  )

  test('the reader accepts tokens that are not JWTs', async () => {
    const session = JSON.stringify({ access_token: 'mcpa_opaque~1.2-3+/==', expires_at: now + 60 })
    const cookies = [newCookie({ name: cookieName, value: encodeURIComponent(session) })]
    const reading = await readFrom(createMemoryBrowser({ cookies }))
    expect(reading).toMatchObject({
      sessions: [
        {
          token: 'mcpa_opaque~1.2-3+/==',
          view: { account: undefined, issuer: undefined, expiresAt: now + 60 },
        },
      ],
    })
  })

  test.each([
    [1e300, 8.64e12],
    [-1e300, -8.64e12],
    [now + 0.5, now + 0.5],
    ['soon', undefined],
    [null, undefined],
  ])('the reader shows the expiry %s as %s', async (exp, expiresAt) => {
    const reading = await readFrom(createMemoryBrowser({ cookies: sessionCookies(jwt({ exp })) }))
    expect(reading).toMatchObject({ sessions: [{ view: { expiresAt } }] })
  })
})

test('the reader keeps only the token and its expiry of a session', async () => {
  const localStorage = { 'sb-two-auth-token': sessionJson(jwt({ sub: 'two' })) }
  const cookies = [
    ...sessionCookies(jwt()),
    ...sessionCookies(jwt({ sub: 'c' }), { name: 'sb-c-auth-token', size: 90 }),
  ]
  const reading = await readFrom(createMemoryBrowser({ cookies, tabs: [newTab({ localStorage })] }))
  expect(tokensIn(reading)).toHaveLength(3)
  for (const secret of secrets) expect(JSON.stringify(reading)).not.toContain(secret)
})

describe('the account and the issuer of a session', () => {
  async function factsOf(token: string): Promise<object> {
    const cookies = sessionCookies(token)
    const reading = await readFrom(createMemoryBrowser({ now, cookies, allowed: new Set(appAllowed) }))
    const view = reading.kind === 'sessions' ? reading.sessions[0]?.view : undefined
    return { account: view?.account, issuer: view?.issuer }
  }

  test.each([
    [{}, { account: 'ada@example.com', issuer: 'abc.supabase.co' }],
    [{ email: undefined }, { account: '11111111-2222-4333-8444-555555555555' }],
    [{ email: '' }, { account: '11111111-2222-4333-8444-555555555555' }],
    [{ iss: 'http://user:pw@127.0.0.1:54321/auth' }, { issuer: '127.0.0.1:54321' }],
    [{ iss: 'urn:issuer' }, { issuer: 'urn:issuer' }],
    [{ iss: 'issuer' }, { issuer: 'issuer' }],
    [
      { email: { a: 1 }, sub: 5, iss: ['x'] },
      { account: undefined, issuer: undefined },
    ],
    [
      { email: null, sub: null, iss: null },
      { account: undefined, issuer: undefined },
    ],
  ])('the claims %j of a token are shown as %j', async (claims, facts) => {
    expect(await factsOf(jwt(claims))).toMatchObject(facts)
  })

  test.each(['opaque', 'a.b.c'])('the token %j, which is not a JWT, shows neither', async (token) => {
    expect(await factsOf(token)).toEqual({ account: undefined, issuer: undefined })
  })
})
