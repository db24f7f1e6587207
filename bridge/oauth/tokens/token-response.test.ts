import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ServerResponse } from '../server-request.ts'
import { OAuthFailure } from '../login-port.ts'
import { failureOf, isClientRefused, readTokenAnswer, refusal, type TokenAnswer } from './token-response.ts'

const at = 1_700_000_000

function read(
  json: unknown,
  answer: Partial<ServerResponse> = {},
  asked: { scope?: string; useIdToken?: boolean } = {},
): TokenAnswer {
  const { scope, useIdToken = false } = asked
  return readTokenAnswer({ status: 200, headers: {}, json, ...answer }, { at, scope, useIdToken })
}

const jwt = (claims: object): string =>
  `${encodeBase64url(encodeUtf8('{}'))}.${encodeBase64url(encodeUtf8(JSON.stringify(claims)))}.AA`

describe('issued', () => {
  const least = { accessToken: 'a', issuedAt: at }
  it.each<[name: string, json: object, tokens: object]>([
    ['the least', { access_token: 'a' }, least],
    [
      'everything',
      {
        access_token: 'a',
        token_type: 'bearer',
        expires_in: 60,
        refresh_token: 'r',
        scope: 'x y',
        id_token: 'i',
      },
      { ...least, expiresAt: at + 60, refreshToken: 'r', scope: 'x y', idToken: 'i' },
    ],
    ['seconds as text', { access_token: 'a', expires_in: '3599' }, { ...least, expiresAt: at + 3599 }],
    ['seconds with a fraction', { access_token: 'a', expires_in: 9.9 }, { ...least, expiresAt: at + 9 }],
    ['zero seconds', { access_token: 'a', expires_in: 0 }, least],
    ['seconds below zero', { access_token: 'a', expires_in: -5 }, least],
    ['seconds beyond all measure', { access_token: 'a', expires_in: 1e300 }, least],
    ['an ID token that no header can hold', { access_token: 'a', id_token: 'a\r\nX-Header: b' }, least],
    ['seconds that are none', { access_token: 'a', expires_in: 'soon' }, least],
    ['one second', { access_token: 'a', expires_in: 1 }, { ...least, expiresAt: at + 1 }],
    ['less than a second', { access_token: 'a', expires_in: 0.9 }, least],
    ['seconds of three hundred years', { access_token: 'a', expires_in: 10_000_000_000 }, least],
    [
      'seconds with digits behind the point, as text',
      { access_token: 'a', expires_in: '60.25' },
      { ...least, expiresAt: at + 60 },
    ],
    [
      'seconds with a point, as text',
      { access_token: 'a', expires_in: '60.' },
      { ...least, expiresAt: at + 60 },
    ],
    ...['60s', ' 60', '60.x', '0x60', '1e3', '60.2.5'].map((seconds): [string, object, object] => [
      `${seconds} for seconds`,
      { access_token: 'a', expires_in: seconds },
      least,
    ]),
    ['seconds in a list', { access_token: 'a', expires_in: ['60'] }, least],
    ['a type that begins like another', { access_token: 'a', token_type: 'popular' }, least],
    ['a type that ends like another', { access_token: 'a', token_type: 'xmac' }, least],
    ['empty texts', { access_token: 'a', refresh_token: '', scope: '', id_token: '' }, least],
    ['nulls', { access_token: 'a', refresh_token: null, scope: null, error: null }, least],
    ['a list of scopes', { access_token: 'a', scope: ['x', 7, 'y'] }, { ...least, scope: 'x y' }],
    ['an odd type', { access_token: 'a', token_type: 'user' }, least],
  ])(
    'an issued token is read, with an expiry only where the response states one: %s',
    (_name, json, tokens) => {
      expect(read(json)).toEqual({ kind: 'issued', tokens })
    },
  )

  it('the requested scope counts as granted if the response names none', () => {
    expect(read({ access_token: 'a' }, {}, { scope: 'x' })).toMatchObject({ tokens: { scope: 'x' } })
    expect(read({ access_token: 'a', scope: 'y' }, {}, { scope: 'x' })).toMatchObject({
      tokens: { scope: 'y' },
    })
  })

  it('an ID token that is sent expires by its own times', () => {
    const json = { access_token: 'a', expires_in: 60, id_token: jwt({ iat: 100, exp: 400 }) }
    expect(read(json, {}, { useIdToken: true })).toMatchObject({ tokens: { expiresAt: at + 300 } })
    expect(read(json)).toMatchObject({ tokens: { expiresAt: at + 60 } })
  })

  it('an ID token that lacks one of its times leaves it to the response', () => {
    for (const claims of [{ exp: 400 }, { iat: 100 }, { iat: '100', exp: 400 }]) {
      const json = { access_token: 'a', expires_in: 60, id_token: jwt(claims) }
      expect(read(json, {}, { useIdToken: true })).toMatchObject({ tokens: { expiresAt: at + 60 } })
    }
  })

  it.each([200, 201, 299])('a token response with the status %i is issued', (status) => {
    expect(read({ access_token: 'a' }, { status })).toMatchObject({ kind: 'issued' })
  })

  it.each([
    { iat: 400, exp: 400 },
    { iat: 400, exp: 100 },
    { iat: 0, exp: 1e300 },
  ])('an ID token with the times %j does not say when it ends', (claims) => {
    const json = { access_token: 'a', id_token: jwt(claims) }
    expect(read(json, {}, { useIdToken: true })).toHaveProperty('tokens.expiresAt', undefined)
  })
})

describe('refused', () => {
  it.each<[status: number, json: object, error: string, description: string | undefined]>([
    [400, { error: 'invalid_grant', error_description: 'No.' }, 'invalid_grant', 'No.'],
    [401, { error: 'invalid_client' }, 'invalid_client', undefined],
    [
      200,
      { error: 'bad_refresh_token', error_description: 'So says GitHub.' },
      'bad_refresh_token',
      'So says GitHub.',
    ],
    [403, { error: 'access_denied' }, 'access_denied', undefined],
    [422, { message: 'Unrecognized client_id' }, 'invalid_client', 'Unrecognized client_id'],
    [
      400,
      { code: 400, error_code: 'refresh_token_not_found', msg: 'Invalid Refresh Token' },
      'http_400',
      'Invalid Refresh Token',
    ],
    [401, {}, 'http_401', undefined],
    [401, { detail: 'Unknown client.' }, 'invalid_client', 'Unknown client.'],
    [401, { detail: 'The clientele is unknown.' }, 'http_401', 'The clientele is unknown.'],
    [
      200,
      { access_token: 'a', token_type: 'mac' },
      'unsupported_token_type',
      'The token is of the type mac, which this client did not ask for.',
    ],
    [400, { error: '\u001B]0;title\u0007' }, 'http_400', undefined],
    [400, { error: 'x'.repeat(201), error_description: 'So.' }, 'http_400', 'So.'],
    [
      200,
      { access_token: 'a', token_type: 'DPoP' },
      'unsupported_token_type',
      'The token is of the type DPoP, which this client did not ask for.',
    ],
  ])('the response %i %j is a refusal', (status, json, error, description) => {
    expect(read(json, { status })).toEqual({ kind: 'refused', error, description })
  })
})

it.each<[status: number, json: unknown]>([
  [200, undefined],
  [200, []],
  [200, {}],
  [200, { access_token: '' }],
  [200, { access_token: 7 }],
  [200, { access_token: 'two words' }],
  [200, { access_token: 'a\r\nX-Header: b' }],
  [400, undefined],
  [401, undefined],
  [403, { message: 'Forbidden' }],
  [404, { message: 'Not found' }],
  [302, {}],
  [302, { access_token: 'a' }],
  [300, { access_token: 'a' }],
  [404, { access_token: 'a' }],
  [429, { error: 'invalid_grant' }],
  [500, { error: 'invalid_grant' }],
  [503, undefined],
  [400, { error: 'temporarily_unavailable' }],
  [400, { error: 'server_error' }],
])('the response %i %j means that the server is unavailable', (status, json) => {
  expect(read(json, { status })).toMatchObject({ kind: 'unavailable', sent: true })
})

it('an unavailable server names the time to wait', () => {
  const answer = read(undefined, { status: 503, headers: { 'retry-after': '11' } })
  expect(answer).toMatchObject({ retryAfterSeconds: 11 })
})

it('any response gives a token that fits in a header, or none, and throws nothing', () => {
  const json = fc.oneof(
    fc.jsonValue(),
    fc.record(
      {
        access_token: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()),
        expires_in: fc.oneof(fc.double(), fc.string(), fc.jsonValue()),
        error: fc.jsonValue(),
        scope: fc.jsonValue(),
        id_token: fc.string({ unit: 'binary' }),
      },
      { requiredKeys: [] },
    ),
  )
  fc.assert(
    fc.property(json, fc.integer({ min: 200, max: 599 }), fc.boolean(), (body, status, useIdToken) => {
      const answer = read(body, { status }, { useIdToken })
      if (answer.kind === 'refused') expect(answer.error).toMatch(/^[\x20-\x7E]+$/)
      if (answer.kind !== 'issued') return
      expect(answer.tokens.accessToken).toMatch(/^[\x21-\x7E]+$/)
      expect(answer.tokens.idToken ?? 'none').toMatch(/^[\x21-\x7E]+$/)
      expect(answer.tokens.expiresAt ?? at + 1).toBeGreaterThan(at)
      expect(Number.isSafeInteger(answer.tokens.expiresAt ?? at)).toBe(true)
    }),
  )
})

describe('the message to the user', () => {
  const issuer = 'https://as.example'

  it.each([
    ['access_denied', 'access_denied'],
    ['expired_token', 'expired'],
    ['invalid_client', 'client_refused'],
    ['unauthorized_client', 'client_refused'],
    ['invalid_scope', 'scope_refused'],
    ['server_error', 'unavailable'],
    ['temporarily_unavailable', 'unavailable'],
    ['invalid_grant', 'refused'],
    ['constructor', 'refused'],
  ])('the error %s of an authorization server is %s, in its words', (error, fault) => {
    const message = `"${issuer}" answered ${error}: "So."`
    expect(refusal(error, 'So.', issuer)).toMatchObject({ name: 'OAuthFailure', fault, issuer, message })
    expect(failureOf({ kind: 'refused', error, description: 'So.' }, issuer)).toMatchObject({
      fault,
      message,
    })
  })

  it('an unreadable response counts as unavailable, with its cause and the time to wait', () => {
    const cause = new Error('the token endpoint answered with status 503')
    const unknown = { kind: 'unavailable', retryAfterSeconds: 11, sent: true } as const
    expect(failureOf({ ...unknown, cause }, issuer)).toMatchObject({
      fault: 'unavailable',
      issuer,
      cause,
      retryAfterSeconds: 11,
      message: `"${issuer}" cannot issue tokens now: the token endpoint answered with status 503.`,
    })
    expect(failureOf({ ...unknown, cause: 'text' }, issuer).message).toBe(
      `"${issuer}" cannot issue tokens now.`,
    )
  })

  it('the client is refused when its issuer says so, and nothing else', () => {
    expect(isClientRefused(refusal('invalid_client', undefined, issuer))).toBe(true)
    expect(isClientRefused(refusal('invalid_grant', undefined, issuer))).toBe(false)
    expect(isClientRefused(new OAuthFailure('refused', 'invalid_client', { issuer }))).toBe(false)
    expect(isClientRefused(new Error('invalid_client'))).toBe(false)
    expect(isClientRefused({ fault: 'client_refused', issuer })).toBe(false)
  })
})
