import {
  createBrowserClient,
  createChunks,
  createServerClient,
  isChunkLike,
  stringToBase64URL,
} from '@supabase/ssr'
import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import { encodeBase64url, encodeUtf8 } from '../base64url.ts'
import { defaultSessionCookieName } from './session-cookie-name.ts'
import type { WireCookie } from './cookie-header.ts'
import { readSessionCookie, staleSessionCookies, writeSessionCookies } from './session-cookie.ts'

// "The library" in these tests is `@supabase/ssr` 0.12.7 itself, with a jar that keeps wire values.

const projectUrl = 'https://abcdefghijklmnopqrst.supabase.co'
const name = defaultSessionCookieName(projectUrl)
const now = 1_800_000_000
const base64Json = (value: unknown): string => encodeBase64url(encodeUtf8(JSON.stringify(value)))

interface Session {
  access_token: string
  token_type: 'bearer'
  expires_in: number
  expires_at: number
  refresh_token: string
  user: { id: string; user_metadata: Record<string, string> }
}

function makeSession(metadata: string, exp = 4_102_444_800): Session {
  const user = { id: 'u1', aud: 'authenticated', app_metadata: {}, user_metadata: { full_name: metadata } }
  const claims = { sub: 'u1', aud: 'authenticated', exp }
  const accessToken = `${base64Json({ alg: 'HS256', typ: 'JWT' })}.${base64Json(claims)}.c2lnbmF0dXJl`
  const times = { expires_in: 3600, expires_at: exp }
  return { access_token: accessToken, token_type: 'bearer', ...times, refresh_token: 'refresh-1', user }
}

/** Text of mixed alphabets whose repetition makes sessions of up to `maximum` JSON characters. */
const metadata = (maximum: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.string({
        unit: fc.constantFrom('a', '%', '"', '\\', 'é', '漢', '😀', '\n', '+', ' ', '\ud800'),
        minLength: 1,
        maxLength: 9,
      }),
      fc.nat(maximum),
    )
    .map(([unit, length]) => unit.repeat(Math.ceil(length / JSON.stringify(unit).length)))

/** A browser's jar: wire values by name, deletion by max-age, percent-encoding at the edge. */
function createJar(initial: readonly WireCookie[] = []) {
  const jar = new Map(initial.map((cookie) => [cookie.name, cookie.value]))
  return {
    wire: (): WireCookie[] => Array.from(jar, ([key, value]) => ({ name: key, value })),
    getAll: () => Array.from(jar, ([key, value]) => ({ name: key, value: decodeURIComponent(value) })),
    setAll: (cookies: { name: string; value: string; options: { maxAge?: number } }[]) => {
      for (const cookie of cookies) {
        if (cookie.options.maxAge === 0) jar.delete(cookie.name)
        else jar.set(cookie.name, encodeURIComponent(cookie.value))
      }
    },
  }
}

type Jar = ReturnType<typeof createJar>

/** The library's server or browser client; its only network call is for the user of a token. */
function createClient(
  side: 'server' | 'browser',
  jar: Jar,
  session: Session,
  cookieEncoding: 'base64url' | 'raw',
) {
  const options = {
    cookies: { getAll: jar.getAll, setAll: jar.setAll },
    cookieEncoding,
    global: { fetch: () => Promise.resolve(Response.json(session.user)) },
    auth: { autoRefreshToken: false, detectSessionInUrl: false },
  }
  return side === 'server'
    ? createServerClient(projectUrl, 'anon', options)
    : createBrowserClient(projectUrl, 'anon', { ...options, isSingleton: false })
}

async function writeWithLibrary(
  side: 'server' | 'browser',
  jar: Jar,
  session: Session,
  encoding: 'base64url' | 'raw' = 'base64url',
): Promise<void> {
  const { error } = await createClient(side, jar, session, encoding).auth.setSession(session)
  expect(error).toBeNull()
}

const read = (cookies: readonly WireCookie[]): ReturnType<typeof readSessionCookie> =>
  readSessionCookie(cookies, { name, now })

const reading = (session: Session): object => ({
  kind: 'session',
  accessToken: session.access_token,
  expiresAt: session.expires_at,
  expired: session.expires_at <= now,
})

const wireLength = (cookies: readonly WireCookie[]): number =>
  cookies.reduce((sum, cookie) => sum + cookie.value.length, 0)

describe('writeSessionCookies', () => {
  test.each([
    ['a small session is one cookie', 100, 7 + 134, [name]],
    ['3179 characters are one cookie', 2379, 3179, [name]],
    ['one byte more makes two', 2380, 3181, [`${name}.0`, `${name}.1`]],
  ])('writing a session: %s', (_rule, jsonLength, valueLength, names) => {
    const session = { access_token: 'x'.repeat(jsonLength - '{"access_token":""}'.length) }
    const cookies = writeSessionCookies(session, { name })
    expect(cookies.map((cookie) => cookie.name)).toEqual(names)
    expect(wireLength(cookies)).toBe(valueLength)
  })

  test('written values are cookie characters only (RFC 6265 section 4.1.1)', () => {
    for (const cookie of writeSessionCookies(makeSession('"; ,\\é😀\0'.repeat(500)), { name })) {
      expect(cookie.value).toMatch(/^[A-Za-z0-9\-_]+$/)
    }
  })

  it('written cookies are byte for byte those of the library, up to 30 chunks', () => {
    let largest = 0
    fc.assert(
      fc.property(metadata(71_000), (text) => {
        const session = makeSession(text)
        const written = writeSessionCookies(session, { name })
        largest = Math.max(largest, written.length)
        expect(written).toEqual(createChunks(name, `base64-${stringToBase64URL(JSON.stringify(session))}`))
      }),
      { numRuns: 20, examples: [['x'.repeat(71_000)], ['']] },
    )
    expect(largest).toBeGreaterThanOrEqual(30)
  })

  test.each(['server', 'browser'] as const)('a %s client is signed in by the cookies', async (side) => {
    await fc.assert(
      fc.asyncProperty(metadata(60_000), async (text) => {
        const session = makeSession(text)
        const jar = createJar(writeSessionCookies(session, { name }))
        const { data, error } = await createClient(side, jar, session, 'base64url').auth.getSession()
        expect(error).toBeNull()
        expect(data.session?.access_token).toBe(session.access_token)
        expect(data.session?.refresh_token).toBe(session.refresh_token)
        expect(data.session?.expires_at).toBe(session.expires_at)
      }),
      { numRuns: 10 },
    )
  })
})

describe('cookies of the library', () => {
  test.each([
    ['server', 'base64url', 71_000],
    ['browser', 'base64url', 71_000],
    ['server', 'raw', 9000],
    ['browser', 'raw', 9000],
  ] as const)('the cookies of the library are read: %s client, %s', async (side, encoding, size) => {
    let largest = 0
    await fc.assert(
      fc.asyncProperty(metadata(size), async (text) => {
        const session = makeSession(text)
        const jar = createJar()
        await writeWithLibrary(side, jar, session, encoding)
        largest = Math.max(largest, jar.wire().length)
        const tooLarge = jar.wire().length > 32
        expect(read(jar.wire())).toEqual(
          tooLarge ? { kind: 'invalid', reason: 'too-large' } : reading(session),
        )
      }),
      { numRuns: 10, examples: [['x'.repeat(size)]] },
    )
    if (encoding === 'base64url') expect(largest).toBeGreaterThanOrEqual(30)
  })

  test('after a sign-out by the library no session is found', async () => {
    const jar = createJar()
    const session = makeSession('x'.repeat(8000))
    await writeWithLibrary('browser', jar, session)
    await createClient('browser', jar, session, 'base64url').auth.signOut({ scope: 'local' })
    expect(read(jar.wire())).toEqual({ kind: 'absent' })
  })
})

describe('staleSessionCookies', () => {
  const written = [
    { name: 'k.0', value: 'a' },
    { name: 'k.1', value: 'b' },
  ]

  test.each<[string, string[], WireCookie[], string[]]>([
    ['nothing is there', [], written, []],
    ['what is written stays', ['k.0', 'k.1'], written, []],
    ['longer tail', ['k.0', 'k.1', 'k.2', 'k.3'], written, ['k.2', 'k.3']],
    ['the un-chunked value next to new chunks', ['k', 'k.0'], written, ['k']],
    [
      'old chunks next to a new un-chunked value',
      ['k.0', 'k.1'],
      [{ name: 'k', value: 'a' }],
      ['k.0', 'k.1'],
    ],
    ['chunks after a gap as well', ['k.0', 'k.9', 'k.31'], written, ['k.9', 'k.31']],
    ['neighbours stay', ['k-code-verifier', 'k-user', 'k.', 'k.01', 'k.a', 'kk', 'K', 'other'], written, []],
    ['each name once', ['k.5', 'k.5'], written, ['k.5']],
    ['sign-out removes everything', ['k', 'k.0', 'x', 'k.1'], [], ['k', 'k.0', 'k.1']],
    ['awkward names', ['__proto__', 'constructor', 'k.2'], written, ['k.2']],
  ])('staleSessionCookies names what a new session must delete: %s', (_rule, present, cookies, stale) => {
    expect(staleSessionCookies(present, cookies, { name: 'k' })).toEqual(stale)
  })

  test.each([
    ['shrinks', 9000, 10],
    ['shrinks within chunks', 20_000, 5000],
    ['grows', 10, 9000],
    ['keeps its size', 9000, 9000],
  ])(
    'writing deletes the cookies that the library deletes when a session %s',
    async (_how, before, after) => {
      const jar = createJar()
      await writeWithLibrary('browser', jar, makeSession('a'.repeat(before)))
      const present = jar.wire().map((cookie) => cookie.name)
      const session = makeSession('b'.repeat(after))
      await writeWithLibrary('browser', jar, session)
      const left = new Set(jar.wire().map((cookie) => cookie.name))
      const cookies = writeSessionCookies(session, { name })
      expect(new Set(staleSessionCookies(present, cookies, { name }))).toEqual(
        new Set(present.filter((key) => !left.has(key))),
      )
    },
  )

  it('staleSessionCookies recognizes chunk names as the library does', () => {
    const awkward = fc.string({ unit: fc.constantFrom('k', '.', '0', '1', '-', 'x'), maxLength: 6 })
    fc.assert(
      fc.property(awkward, (key) => {
        expect(staleSessionCookies([key], [], { name: 'k' }).length === 1).toBe(isChunkLike(key, 'k'))
      }),
      { numRuns: 1000 },
    )
  })
})
