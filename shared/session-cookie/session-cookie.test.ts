import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import { encodeBase64url, encodeUtf8 } from '../base64url.ts'
import { findSessionCookieNames } from './session-cookie-name.ts'
import { parseCookieHeader, type WireCookie } from './cookie-header.ts'
import { readSessionCookie, type InvalidSessionReason } from './session-cookie.ts'
import file from '../vectors/session-cookies.json' with { type: 'json' }

const name = 'sb-abc-auth-token'
const now = 1_800_000_000
const base64 = (text: string): string => encodeBase64url(encodeUtf8(text))
const base64Json = (value: unknown): string => base64(JSON.stringify(value))
const jwt = (claims: object): string => `${base64Json({ alg: 'HS256' })}.${base64Json(claims)}.c2ln`
const chunks = (value: string, size: number, base = name): WireCookie[] =>
  Array.from({ length: Math.ceil(value.length / size) }, (_, index) => ({
    name: `${base}.${index}`,
    value: value.slice(index * size, (index + 1) * size),
  }))
const read = (cookies: readonly WireCookie[]): ReturnType<typeof readSessionCookie> =>
  readSessionCookie(cookies, { name, now })
const readValue = (value: string): ReturnType<typeof readSessionCookie> => read([{ name, value }])
const session = (accessToken: string, expiresAt?: number, expired = false): object => ({
  kind: 'session',
  accessToken,
  expiresAt,
  expired,
})
const invalid = (reason: InvalidSessionReason): object => ({ kind: 'invalid', reason })

describe('the vectors: jars left by the client libraries, and hand-made ones', () => {
  it('the file of vectors has all 41', () => {
    expect(file.vectors).toHaveLength(41)
  })

  const readVector = (cookies: readonly WireCookie[], cookieName: string): object => {
    const reading = readSessionCookie(cookies, { name: cookieName, now: file.meta.now })
    if (reading.kind !== 'session') return { error: reading.kind }
    const { accessToken, expiresAt, expired } = reading
    return { access_token: accessToken, expires_at: expiresAt, expired }
  }

  test.each(file.vectors.map((vector) => [vector.id, vector] as const))(
    'the vector %s is read as specified',
    (_id, vector) => {
      expect(readVector(vector.cookies, vector.cookie_name)).toEqual(vector.expect)
      // The same jar as a request header: parsing must not change the result.
      const header = vector.cookies.map((cookie) => `${cookie.name}=${cookie.value}`).join('; ')
      expect(readVector(parseCookieHeader(header), vector.cookie_name)).toEqual(vector.expect)
    },
  )

  const listed = file.vectors.filter((vector) => vector.all_sessions !== undefined)

  test.each(listed.map((vector) => [vector.id, vector] as const))(
    'the vector %s lists all its sessions',
    (_id, vector) => {
      const found = findSessionCookieNames(vector.cookies.map((cookie) => cookie.name)).flatMap((cookie) => {
        const reading = readSessionCookie(vector.cookies, { name: cookie.name, now: file.meta.now })
        return reading.kind === 'session'
          ? [{ project_ref: cookie.projectRef, access_token: reading.accessToken }]
          : []
      })
      expect(found).toEqual(vector.all_sessions)
    },
  )

  test('no reading of a vector holds a refresh or provider token', () => {
    for (const vector of file.vectors) {
      const reading = readSessionCookie(vector.cookies, { name: vector.cookie_name, now: file.meta.now })
      expect(['accessToken,expired,expiresAt,kind', 'kind', 'kind,reason']).toContain(
        Object.keys(reading).toSorted().join(','),
      )
    }
  })
})

describe('rule 1: which cookies count', () => {
  const good = JSON.stringify({ access_token: 't' })

  test.each<[string, WireCookie[], object]>([
    ['no cookies', [], { kind: 'absent' }],
    ['other names only', [{ name: 'other', value: good }], { kind: 'absent' }],
    ['a name that only starts alike', [{ name: `${name}-code-verifier`, value: good }], { kind: 'absent' }],
    ['chunk names with leading zeros', [{ name: `${name}.00`, value: good }], { kind: 'absent' }],
    ['an empty value', [{ name, value: '' }], { kind: 'absent' }],
    ['empty chunks', [{ name: `${name}.0`, value: '' }], { kind: 'absent' }],
    [
      'an empty chunk ends the run',
      [
        { name: `${name}.0`, value: good },
        { name: `${name}.1`, value: '' },
      ],
      session('t'),
    ],
    ['a quoted empty value is there, but no session', [{ name, value: '""' }], invalid('malformed')],
  ])('only cookies of the session are read: %s', (_rule, cookies, reading) => {
    expect(read(cookies)).toEqual(reading)
  })

  test.each([
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    '.',
    'a.0',
    '[::1]',
    '__Secure-a.b',
  ])('a session cookie may be called %j', (awkward) => {
    const options = { name: awkward, now }
    expect(readSessionCookie([], options)).toEqual({ kind: 'absent' })
    expect(readSessionCookie([{ name: awkward, value: good }], options)).toEqual(session('t'))
    expect(readSessionCookie(chunks(good, 5, awkward), options)).toEqual(session('t'))
    expect(read([{ name: awkward, value: 'x' }])).toEqual({ kind: 'absent' })
  })
})

describe('rule 2: quotes and percent-encoding of one value', () => {
  const token = '{"access_token":"a%b+c"}'

  test.each<[string, string, object]>([
    ['plain JSON', '{"access_token":"t"}', session('t')],
    ['percent-encoded JSON', encodeURIComponent(token), session('a%b+c')],
    ['one pair of quotes', `"${encodeURIComponent(token)}"`, session('a%b+c')],
    ['two pairs of quotes', '""{"access_token":"t"}""', invalid('malformed')],
    ['half a pair', '"{"access_token":"t"}', invalid('malformed')],
    ['a lone quote', '"', invalid('malformed')],
    ['a stray % leaves the text as it is', token, session('a%b+c')],
    ['plus is not a space', '{"access_token":"a+b"}', session('a+b')],
    ['decoding happens once', encodeURIComponent('{"access_token":"a%2Bb"}'), session('a%2Bb')],
    ['quotes inside the encoding stay', '%22%7B%7D%22', invalid('malformed')],
    ['percent-encoded bytes that are not UTF-8', '%FF{"access_token":"t"}', invalid('malformed')],
  ])('a value is decoded before it is read: %s', (_rule, value, reading) => {
    expect(readValue(value)).toEqual(reading)
  })

  test('Spec 5.3: percent-decoding is applied to each chunk, before joining', () => {
    const cookies = [
      { name: `${name}.0`, value: `"${encodeURIComponent('{"access_')}"` },
      { name: `${name}.1`, value: 'token":"100%25"}' },
    ]
    expect(read(cookies)).toEqual(session('100%'))
  })
})

describe('rule 3: candidates and their order', () => {
  const expired = (token: string): string => JSON.stringify({ access_token: token, expires_at: now - 10 })
  const current = (token: string): string => JSON.stringify({ access_token: token, expires_at: now + 10 })

  test('an un-chunked value goes before chunks', () => {
    const cookies = [...chunks(current('chunked'), 10), { name, value: current('whole') }]
    expect(read(cookies)).toEqual(session('whole', now + 10))
  })

  test('un-chunked values are read in the order sent', () => {
    const cookies = ['first', 'second'].map((token) => ({ name, value: current(token) }))
    expect(read(cookies)).toEqual(session('first', now + 10))
  })

  test('Spec 5.3: chunks are joined in numeric order, whatever the order sent', () => {
    const value = current('x'.repeat(100))
    const cookies = chunks(value, 10)
    expect(cookies.length).toBeGreaterThan(10)
    expect(read(cookies.toReversed())).toEqual(session('x'.repeat(100), now + 10))
    expect(read(cookies.toSorted((a, b) => (a.name < b.name ? -1 : 1)))).toEqual(
      session('x'.repeat(100), now + 10),
    )
  })

  test('chunks after a gap do not count', () => {
    const cookies = [...chunks(current('t'), 20), { name: `${name}.9`, value: 'x' }]
    expect(read(cookies)).toEqual(session('t', now + 10))
  })

  test('a prefix of the chunks is the session if a longer old one left chunks behind', () => {
    for (const encode of [String, (text: string) => `base64-${base64(text)}`]) {
      const old = chunks(encode(expired('old'.repeat(100))), 30)
      const fresh = chunks(encode(current('new')), 30)
      expect(old.length).toBeGreaterThan(fresh.length)
      expect(read([...fresh, ...old.slice(fresh.length)])).toEqual(session('new', now + 10))
    }
  })

  test('a prefix ends at the end of a chunk, not inside one', () => {
    const value = `${current('t')}x`
    expect(read(chunks(value, value.length - 1))).toEqual(session('t', now + 10))
    const encoded = `base64-${base64(value)}`
    for (const text of [value, encoded]) {
      for (const size of [10, text.length]) expect(read(chunks(text, size))).toEqual(invalid('malformed'))
    }
  })

  test('cookies of an older layout do not hide a session in base64', () => {
    const fresh = chunks(`base64-${base64(current('new'))}`, 30)
    const left = { name: `${name}.${fresh.length}`, value: '"expires_at":0}' }
    expect(read([...fresh, left])).toEqual(session('new', now + 10))
  })

  test('duplicated chunks form a run of first, of second, of third occurrences', () => {
    const sets = ['one', 'two', 'six', 'ten'].map((token) => chunks(current(token), 20))
    const corrupt = (set: WireCookie[]): WireCookie[] => set.map((cookie) => ({ ...cookie, value: '!' }))
    const [one = [], two = [], six = [], ten = []] = sets
    expect(read([...one, ...two, ...six])).toEqual(session('one', now + 10))
    expect(read([...corrupt(one), ...two, ...six])).toEqual(session('two', now + 10))
    expect(read([...corrupt(one), ...corrupt(two), ...six])).toEqual(session('six', now + 10))
    expect(read([...corrupt(one), ...corrupt(two), ...corrupt(six), ...ten])).toEqual(invalid('malformed'))
  })

  test('a chunk with fewer occurrences gives its last', () => {
    const value = current('t')
    const [head, tail] = [value.slice(0, 9), value.slice(9)]
    const [zero, one] = [`${name}.0`, `${name}.1`]
    expect(
      read([
        { name: zero, value: head },
        { name: one, value: '!' },
        { name: one, value: tail },
      ]),
    ).toEqual(session('t', now + 10))
    expect(
      read([
        { name: zero, value: '!' },
        { name: zero, value: head },
        { name: one, value: '!' },
        { name: one, value: '?' },
        { name: one, value: tail },
      ]),
    ).toEqual(session('t', now + 10))
  })
})

const json = '{"access_token":"tökén😀"}'
const standard = (text: string): string => {
  const url = base64(text)
  return url
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .padEnd(Math.ceil(url.length / 4) * 4, '=')
}

test.each<[string, string, object]>([
  ['base64url', `base64-${base64(json)}`, session('tökén😀')],
  ['standard base64 with padding', `base64-${standard(json)}`, session('tökén😀')],
  ['white space inside', `base64-${base64(json).replaceAll(/.{5}/g, '$& ')}`, session('tökén😀')],
  ['white space around the JSON', `base64-${base64(` \n${json}\t\r\n `)}`, session('tökén😀')],
  ['white space around plain JSON', ` ${json} `, session('tökén😀')],
  ['length prefix and JSON', `base64l-zz-${json}`, session('tökén😀')],
  ['length prefix and base64', `base64l-1-${base64(json)}`, session('tökén😀')],
  ['length prefix and a list: the list is not base64', 'base64l-1-["t"]', invalid('malformed')],
  ['a length that is not a number is not checked', `base64l-zzzzzzzz-${json}`, session('tökén😀')],
  ['a length prefix without length', `base64l--${base64(json)}`, invalid('malformed')],
  ['a length prefix in upper case', `base64l-A-${base64(json)}`, invalid('malformed')],
  ['the prefix is case-sensitive', `Base64-${base64(json)}`, invalid('malformed')],
  ['the prefix must come first', ` base64-${base64(json)}`, invalid('malformed')],
  ['base64 without prefix', base64(json), invalid('malformed')],
  ['the prefix alone', 'base64-', invalid('malformed')],
  ['JSON after the plain prefix', `base64-${json}`, invalid('malformed')],
  ['an illegal character', `base64-${base64(json)}!`, invalid('malformed')],
  [
    'bytes that are not UTF-8',
    `base64-${encodeBase64url(Uint8Array.of(0x5b, 0x22, 0xff, 0x22, 0x5d))}`,
    invalid('malformed'),
  ],
  ['a byte order mark', `base64-${base64(`\ufeff${json}`)}`, invalid('malformed')],
  ['a list: the access token is first', '["t","refresh","provider"]', session('t')],
  ['an empty list', '[]', invalid('no-access-token')],
  ['a list that starts with null', '[null,"t"]', invalid('no-access-token')],
  ['an empty object', '{}', invalid('no-access-token')],
  ['an empty token', '{"access_token":""}', invalid('no-access-token')],
  ['a refresh token is not an access token', '{"refresh_token":"t"}', invalid('no-access-token')],
  ['an inherited member does not count', '{"__proto__":{"access_token":"t"}}', invalid('no-access-token')],
  ['brackets and quotes in strings', String.raw`{"a":"}]\"}\\","access_token":"t"}`, session('t')],
  ['JSON text', '"t"', invalid('malformed')],
  ['two values', '{"access_token":"t"}{}', invalid('malformed')],
  ['a value and a comma', '{"access_token":"t"},', invalid('malformed')],
  ['wrong brackets', '{"access_token":"t"]', invalid('malformed')],
  ['an end before the start', '}{"access_token":"t"}', invalid('malformed')],
])('Spec 5.3: rule 4: a candidate is decoded: %s', (_rule, value, reading) => {
  expect(readValue(value)).toEqual(reading)
  // The value means the same however it is cut into chunks.
  for (const size of [1 + Math.ceil(value.length / 32), 7, 20, 1000]) {
    if (value.length / size <= 32 && !/["%]/.test(value)) expect(read(chunks(value, size))).toEqual(reading)
  }
})

describe('rule 5: which candidate, and expiry', () => {
  const at = (exp: unknown, expiresAt?: unknown): string =>
    JSON.stringify({ access_token: exp === undefined ? 'opaque' : jwt({ exp }), expires_at: expiresAt })

  test.each<[string, string, number | undefined, boolean]>([
    ['the token’s own exp', at(now + 1), now + 1, false],
    ['expired at that second (exp <= now)', at(now), now, true],
    ['expired before', at(now - 1), now - 1, true],
    ['the token decides against the session: expired', at(now - 1, now + 1), now - 1, true],
    ['the token decides against the session: unexpired', at(now + 1, now - 1), now + 1, false],
    ['an opaque token: the session’s expires_at', at(undefined, now + 1), now + 1, false],
    ['an opaque token, expired', at(undefined, now), now, true],
    ['a JWT without a usable exp: the session’s', at('soon', now + 1), now + 1, false],
    ['exp zero is an expiry', at(0, now + 1), 0, true],
    ['unknown counts as unexpired', at(undefined), undefined, false],
    ['text is not an expiry', at(undefined, '0'), undefined, false],
    ['infinity is not an expiry', '{"access_token":"x","expires_at":1e999}', undefined, false],
  ])('a candidate is chosen by its end: %s', (_rule, value, expiresAt, expired) => {
    expect(readValue(value)).toMatchObject({ kind: 'session', expiresAt, expired })
  })

  const whole = (exp: number, token: string): WireCookie => ({
    name,
    value: JSON.stringify({ access_token: token, expires_at: exp }),
  })

  test('the first unexpired candidate is chosen past expired and broken ones', () => {
    const cookies = [
      { name, value: '!' },
      whole(now - 1, 'old'),
      whole(now + 1, 'new'),
      whole(now + 9, 'later'),
    ]
    expect(read(cookies)).toMatchObject({ accessToken: 'new', expired: false })
  })

  test('an unexpired chunked session goes before an expired whole one', () => {
    const fresh = JSON.stringify({ access_token: 'new', expires_at: now + 1 })
    expect(read([whole(now - 1, 'old'), ...chunks(fresh, 11)])).toMatchObject({ accessToken: 'new' })
  })

  test('the first session is chosen if all have expired', () => {
    const cookies = [{ name, value: '{}' }, whole(now - 5, 'a'), whole(now - 1, 'b')]
    expect(read(cookies)).toMatchObject({ accessToken: 'a', expired: true })
  })
})

describe('the reason of a missing session', () => {
  const [first = { name, value: '' }, ...others] = chunks(
    JSON.stringify({ access_token: 'x'.repeat(50) }),
    20,
  )

  test.each<[string, WireCookie[], InvalidSessionReason]>([
    ['garbage', [{ name, value: 'garbage' }], 'malformed'],
    ['a truncated last chunk', [first, ...others.slice(0, -1)], 'malformed'],
    ['no first chunk', others, 'missing-chunk'],
    ['a gap', [first, ...others.slice(1)], 'missing-chunk'],
    ['JSON without a token says more than a gap', [{ name, value: '{}' }, ...others], 'no-access-token'],
    ['too large says more than anything', [{ name, value: '{}' }, ...chunks('x'.repeat(40), 1)], 'too-large'],
  ])('the reason for no session: %s', (_rule, cookies, reason) => {
    expect(read(cookies)).toEqual(invalid(reason))
  })
})

describe('caps', () => {
  const filled = (length: number): string => {
    const value = '{"access_token":"t"}'
    return value + ' '.repeat(length - value.length)
  }

  test('a session of 32 chunks and 131072 characters is read', () => {
    expect(read(chunks(filled(32), 1))).toEqual(session('t'))
    expect(readValue(filled(131_072))).toEqual(session('t'))
    expect(read(chunks(filled(131_072), 4096))).toEqual(session('t'))
  })

  test('a session beyond 32 chunks or 131072 characters is not read, even if it could be', () => {
    expect(read(chunks(filled(33), 1))).toEqual(invalid('too-large'))
    expect(readValue(filled(131_073))).toEqual(invalid('too-large'))
    expect(read(chunks(filled(131_073), 4100))).toEqual(invalid('too-large'))
  })

  test('a jar with any number of cookies is answered', () => {
    const many = Array.from({ length: 130_000 }, (_, index) => ({ name: `${name}.${index}`, value: 'x' }))
    expect(read(many)).toEqual(invalid('too-large'))
    const same = Array.from({ length: 130_000 }, () => ({ name: `${name}.0`, value: 'x' }))
    expect(read(same)).toEqual(invalid('malformed'))
  })

  test('a usable value next to one that is too large is read', () => {
    expect(
      read([
        { name, value: filled(131_073) },
        { name, value: filled(30) },
      ]),
    ).toEqual(session('t'))
    expect(read([{ name, value: filled(30) }, ...chunks('x'.repeat(99), 1)])).toEqual(session('t'))
  })
})

describe('hostile jars', () => {
  test.each<[string, string]>([
    ['open brackets', '['],
    ['closed objects', '{}'],
    ['backslashes', String.raw`["\\`],
    ['padding', 'base64-===='],
    ['spaces', '{} '],
  ])(
    'a jar with 131072 characters of %s in 32 chunks, each name three times, is answered',
    (_rule, piece) => {
      const long = piece.repeat(Math.ceil(131_072 / piece.length)).slice(0, 131_072)
      for (const text of [
        long,
        `base64-${long}`.slice(0, 131_072),
        `base64-${base64(long)}`.slice(0, 131_072),
      ]) {
        const set = chunks(text, 4096)
        expect(set).toHaveLength(32)
        expect(read([...set, ...set, ...set]).kind).toBe('invalid')
      }
    },
  )

  test('each character of 32 chunks is parsed as JSON at most once', () => {
    const parsed: number[] = []
    const parse = JSON.parse
    const nested = '{"a":{}}'.repeat(8192)
    JSON.parse = (text: string): unknown => {
      parsed.push(text.length)
      return parse(text)
    }
    try {
      read(chunks(nested, 2048))
      read(chunks(`base64-${base64(nested.slice(0, 40_000))}`, 2048))
      read(chunks('['.repeat(131_072), 2048))
    } finally {
      JSON.parse = parse
    }
    expect(parsed.length).toBeLessThanOrEqual(3)
    expect(parsed.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(3 * 131_072)
  })
})

describe('parseCookieHeader (RFC 6265 section 4.2.1)', () => {
  test.each([
    ['empty', '', []],
    ['several pairs', 'a=b; c=d', ['a: b', 'c: d']],
    ['no space after the semicolon', 'a=b;c=d', ['a: b', 'c: d']],
    ['spaces and tabs around', ' a =\tb ; c = d\t', ['a: b', 'c: d']],
    ['other white space belongs to the value', 'a=b\u00a0', ['a: b\u00a0']],
    ['duplicates stay, in order', 'a=1; b=2; a=3', ['a: 1', 'b: 2', 'a: 3']],
    ['an empty value', 'a=', ['a: ']],
    ['an empty name', '=b', [': b']],
    ['the first equals sign divides', 'a=b=c==', ['a: b=c==']],
    ['text without an equals sign is skipped', 'a; b=c; ; d', ['b: c']],
    ['nothing is decoded', 'a%20b="x%20y"', ['a%20b: "x%20y"']],
    ['awkward names', '__proto__=1; constructor=2', ['__proto__: 1', 'constructor: 2']],
  ])('a Cookie header is parsed: %s', (_rule, header, pairs) => {
    expect(parseCookieHeader(header).map((cookie) => `${cookie.name}: ${cookie.value}`)).toEqual(pairs)
  })

  it('any cookie jar is read back', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '0', '.', '-', '%', '"', '{', ':', '='),
      maxLength: 8,
    })
    const cookies = fc.array(fc.record({ name: text.map((key) => key.replaceAll('=', '')), value: text }))
    fc.assert(
      fc.property(cookies, (list) => {
        const header = list.map((cookie) => `${cookie.name}=${cookie.value}`).join('; ')
        expect(parseCookieHeader(header)).toEqual(list)
      }),
    )
  })

  test('a header of a million spaces is answered', () => {
    expect(parseCookieHeader(`a=${' '.repeat(1_000_000)}b`)).toHaveLength(1)
    expect(parseCookieHeader(`${' '.repeat(1_000_000)}a=b`)).toEqual([{ name: 'a', value: 'b' }])
  })
})
