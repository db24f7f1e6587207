import { describe, expect, it, test } from 'vitest'

import { OAuthError, oauthErrorBody, oauthErrorStatus } from './oauth-error.ts'

test('a code has status 400 unless its specification names another', () => {
  const others = Object.entries(oauthErrorStatus).filter(([, status]) => status !== 400)
  expect(Object.fromEntries(others)).toEqual({
    // RFC 6749 sections 4.1.2.1 and 5.2
    invalid_client: 401,
    server_error: 500,
    temporarily_unavailable: 503,
    // RFC 6750 section 3.1
    insufficient_scope: 403,
    invalid_token: 401,
  })
  expect(new OAuthError('invalid_client', 'x').status).toBe(401)
  expect(new OAuthError('invalid_grant', 'x').status).toBe(400)
})

it('an OAuthError takes another status from the caller', () => {
  expect(new OAuthError('temporarily_unavailable', 'slow down', { status: 429 }).status).toBe(429)
})

it('an OAuthError keeps its cause for the log, out of the body', () => {
  const cause = new Error('private')
  const error = new OAuthError('server_error', 'try again', { cause })
  expect(error.cause).toBe(cause)
  expect(JSON.stringify(oauthErrorBody(error))).not.toContain('private')
})

describe('OAuth 2.1 3.2.4, RFC 6749 5.2: error_description has the characters of RFC 6749 section 5.2 only', () => {
  test.each([
    ['plain text stays', 'redirect_uri is not registered: ~!#[]', 'redirect_uri is not registered: ~!#[]'],
    ['quotes', 'the "resource" parameter', "the 'resource' parameter"],
    ['backslashes', String.raw`a\b`, 'a?b'],
    ['line ends, which would split a header', 'a\r\nSet-Cookie: x=1', 'a??Set-Cookie: x=1'],
    ['control characters', 'a\0b\u007fc\td', 'a?b?c?d'],
    ['non-ASCII', 'größe', 'gr??e'],
    ['astral characters', '😀', '??'],
    ['empty', '', ''],
  ])('OAuthError writes its description for the wire: %s', (_rule, text, description) => {
    const error = new OAuthError('invalid_request', text)
    expect(error.description).toBe(description)
    expect(error.message).toBe(description)
    expect(oauthErrorBody(error)).toEqual({ error: 'invalid_request', error_description: description })
  })

  test('every other UTF-16 unit is replaced', () => {
    const units = Array.from({ length: 0x200 }, (_, unit) => String.fromCharCode(unit)).join('')
    expect(new OAuthError('invalid_request', units).description).toMatch(
      /^[\x20\x21\x23-\x5B\x5D-\x7E]{512}$/,
    )
  })
})
