import { describe, expect, it, test } from 'vitest'

import { OAuthError, oauthErrorBody, oauthErrorStatus, type OAuthErrorCode } from './oauth-error.ts'

describe('default status', () => {
  test.each<[OAuthErrorCode, number, string]>([
    ['invalid_request', 400, 'RFC 6749 section 5.2'],
    ['invalid_client', 401, 'RFC 6749 section 5.2'],
    ['invalid_grant', 400, 'RFC 6749 section 5.2'],
    ['unauthorized_client', 400, 'RFC 6749 section 5.2'],
    ['unsupported_grant_type', 400, 'RFC 6749 section 5.2'],
    ['invalid_scope', 400, 'RFC 6749 section 5.2'],
    ['access_denied', 400, 'RFC 6749 section 4.1.2.1'],
    ['unsupported_response_type', 400, 'RFC 6749 section 4.1.2.1'],
    ['server_error', 500, 'RFC 6749 section 4.1.2.1'],
    ['temporarily_unavailable', 503, 'RFC 6749 section 4.1.2.1'],
    ['invalid_token', 401, 'RFC 6750 section 3.1'],
    ['insufficient_scope', 403, 'RFC 6750 section 3.1'],
    ['unsupported_token_type', 400, 'RFC 7009 section 2.2.1'],
    ['invalid_redirect_uri', 400, 'RFC 7591 section 3.2.2'],
    ['invalid_client_metadata', 400, 'RFC 7591 section 3.2.2'],
    ['invalid_software_statement', 400, 'RFC 7591 section 3.2.2'],
    ['unapproved_software_statement', 400, 'RFC 7591 section 3.2.2'],
    ['authorization_pending', 400, 'RFC 8628 section 3.5'],
    ['slow_down', 400, 'RFC 8628 section 3.5'],
    ['expired_token', 400, 'RFC 8628 section 3.5'],
    ['invalid_target', 400, 'RFC 8707 section 2'],
    ['login_required', 400, 'OpenID Connect Core 1.0 section 3.1.2.6'],
    ['request_not_supported', 400, 'OpenID Connect Core 1.0 section 3.1.2.6'],
    ['request_uri_not_supported', 400, 'OpenID Connect Core 1.0 section 3.1.2.6'],
  ])('%s is %i (%s)', (code, status) => {
    expect(new OAuthError(code, 'x').status).toBe(status)
    expect(oauthErrorStatus[code]).toBe(status)
  })

  test('no code has a status outside of the 4xx and 5xx range', () => {
    for (const status of Object.values(oauthErrorStatus)) expect([4, 5]).toContain(Math.floor(status / 100))
  })
})

describe('OAuthError', () => {
  it('is an Error whose message is the description', () => {
    const error = new OAuthError('invalid_grant', 'the code was used before')
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'OAuthError',
      code: 'invalid_grant',
      message: 'the code was used before',
      description: 'the code was used before',
    })
    expect(error.stack).toContain('the code was used before')
  })

  it('takes another status from the caller', () => {
    expect(new OAuthError('temporarily_unavailable', 'slow down', { status: 429 }).status).toBe(429)
  })

  it('keeps the cause for the log and out of the body', () => {
    const cause = new Error('private')
    const error = new OAuthError('server_error', 'try again', { cause })
    expect(error.cause).toBe(cause)
    expect(JSON.stringify(oauthErrorBody(error))).not.toContain('private')
  })

  it('has no cause unless one was given', () => {
    expect('cause' in new OAuthError('server_error', 'x')).toBe(false)
    expect('cause' in new OAuthError('server_error', 'x', { status: 502 })).toBe(false)
    expect('cause' in new OAuthError('server_error', 'x', { cause: undefined })).toBe(true)
  })
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
  ])('%s', (_rule, text, description) => {
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
