import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import { bearerChallenge, parseWwwAuthenticate } from './www-authenticate.ts'

/** Returns each challenge as text, its values quoted. */
const parse = (header: string): string[] =>
  parseWwwAuthenticate(header).map(({ scheme, params }) =>
    [scheme, ...Array.from(params, ([name, value]) => `${name}=${JSON.stringify(value)}`)].join(' '),
  )

describe('bearerChallenge', () => {
  const resourceMetadata = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'

  test.each([
    [
      'no credential was sent: no error (RFC 6750 section 3.1)',
      { resourceMetadata, scope: 'mcp' },
      `Bearer resource_metadata="${resourceMetadata}", scope="mcp"`,
    ],
    [
      'a bad token',
      { resourceMetadata, scope: 'a b', error: 'invalid_token', errorDescription: 'expired' },
      `Bearer resource_metadata="${resourceMetadata}", scope="a b", error="invalid_token", error_description="expired"`,
    ],
    [
      'no scope',
      { resourceMetadata, error: 'invalid_token' },
      `Bearer resource_metadata="${resourceMetadata}", error="invalid_token"`,
    ],
    [
      'members set to undefined are left out',
      { resourceMetadata, scope: undefined, error: undefined, errorDescription: undefined },
      `Bearer resource_metadata="${resourceMetadata}"`,
    ],
    [
      'quotes and backslashes are escaped (RFC 9110 section 5.6.4)',
      { resourceMetadata: 'x', errorDescription: String.raw`say "a\b"` },
      String.raw`Bearer resource_metadata="x", error_description="say \"a\\b\""`,
    ],
    [
      'line ends cannot split the header',
      { resourceMetadata: 'x\r\nSet-Cookie: a=b', scope: 'é' },
      'Bearer resource_metadata="x??Set-Cookie: a=b", scope="?"',
    ],
  ])('bearerChallenge writes a header: %s', (_rule, challenge, header) => {
    expect(bearerChallenge(challenge)).toBe(header)
  })

  it('OAuth 2.1 5.3.1, RFC 6750 3: a challenge can always be put in a header, and is read back', () => {
    const text = fc.string({
      unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
    })
    fc.assert(
      fc.property(text, text, text, text, (metadata, scope, error, errorDescription) => {
        const header = bearerChallenge({ resourceMetadata: metadata, scope, error, errorDescription })
        expect(new Headers({ 'WWW-Authenticate': header }).get('www-authenticate')).toBe(header)
        const [challenge] = parseWwwAuthenticate(header)
        expect(Object.fromEntries(challenge?.params ?? [])).toEqual({
          resource_metadata: metadata,
          scope,
          error,
          error_description: errorDescription,
        })
      }),
    )
  })
})

describe('parseWwwAuthenticate (RFC 9110 sections 11.2, 11.3 and 11.6.1)', () => {
  test.each([
    ['empty', '', []],
    ['commas and space only', ' , ,\t,', []],
    ['a scheme alone', 'Bearer', ['bearer']],
    ['a scheme and a space', 'Bearer ', ['bearer']],
    ['schemes compare without case', 'BEARER realm=x', ['bearer realm="x"']],
    ['parameter names compare without case', 'Bearer Realm="X"', ['bearer realm="X"']],
    ['a quoted value', 'Bearer realm="a, b=c"', ['bearer realm="a, b=c"']],
    ['an empty quoted value', 'Bearer realm=""', ['bearer realm=""']],
    [
      'escapes in a quoted value',
      String.raw`Bearer realm="a\"b\\c\d"`,
      [String.raw`bearer realm="a\"b\\cd"`],
    ],
    ['several parameters', 'Bearer a=1, b="2" ,c=3', ['bearer a="1" b="2" c="3"']],
    ['no space after the comma', 'Bearer a=1,b=2', ['bearer a="1" b="2"']],
    ['space around the equals sign', 'Bearer a = 1, b\t=\t"2"', ['bearer a="1" b="2"']],
    ['empty list elements', ',Bearer a=1,,b=2,', ['bearer a="1" b="2"']],
    ['several spaces after the scheme', 'Bearer    a=1', ['bearer a="1"']],
    ['of a repeated parameter the first', 'Bearer a=1, A=2', ['bearer a="1"']],
    ['token68 is skipped', 'Negotiate YWJj+/==', ['negotiate']],
    ['token68 with one equals sign is not a parameter', 'Negotiate abc=', ['negotiate']],
    ['token68 before another challenge', 'Negotiate abc==, Bearer a=1', ['negotiate', 'bearer a="1"']],
    ['a scheme alone before another', 'Negotiate, Basic realm=x', ['negotiate', 'basic realm="x"']],
    ['the same scheme twice', 'Bearer a=1, Bearer a=2', ['bearer a="1"', 'bearer a="2"']],
    ['a __proto__ parameter', 'Bearer __proto__=x, a=1', ['bearer __proto__="x" a="1"']],
    [
      'the example of RFC 9110 section 11.6.1',
      'Basic realm="simple", Newauth realm="apps", type=1, title="Login to \\"apps\\""',
      ['basic realm="simple"', String.raw`newauth realm="apps" type="1" title="Login to \"apps\""`],
    ],
    [
      'the example of RFC 9728 section 5.1',
      'Bearer resource_metadata="https://resource.example.com/.well-known/oauth-protected-resource"',
      ['bearer resource_metadata="https://resource.example.com/.well-known/oauth-protected-resource"'],
    ],
  ])('parseWwwAuthenticate reads every challenge of a header: %s', (_rule, header, challenges) => {
    expect(parse(header)).toEqual(challenges)
  })

  test.each([
    ['an unquoted list of scopes', 'Bearer scope=a b, error=c', ['bearer scope="a" error="c"']],
    ['a value that never ends', 'Bearer a=1, b="never', ['bearer a="1"']],
    ['a missing value', 'Bearer a=, b=2', ['bearer b="2"']],
    ['a parameter before any scheme', 'a="1", Bearer b=2', ['bearer b="2"']],
    ['something that is not a token', '"x", (y), Bearer b=2', ['bearer b="2"']],
    ['text after a quoted value', 'Bearer a="1"x, b=2', ['bearer a="1" b="2"']],
    ['the same after a later parameter', 'Bearer z=0, a="1"x, b=2', ['bearer z="0" a="1" b="2"']],
  ])('a malformed challenge is skipped to the next comma: %s', (_rule, header, challenges) => {
    expect(parse(header)).toEqual(challenges)
  })

  it('parsing a challenge never throws', () => {
    const pieces = fc.constantFrom('Bearer', 'a', '=', '"', '\\', ',', ' ', '\t', '==', 'é', '\0', '"x"', '/')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 14 }), (list) => {
        for (const { scheme, params } of parseWwwAuthenticate(list.join(''))) {
          expect(scheme).toMatch(/^[!-~]+$/)
          for (const name of params.keys()) expect(name).toMatch(/^[!-~]+$/)
        }
      }),
      { numRuns: 1000 },
    )
  })

  test.each([
    ['spaces', ' '],
    ['open quotes', 'Bearer a="'],
    ['open quotes with escapes', String.raw`a="\",`],
    ['challenges', 'Bearer '],
    ['spaces before a wrong end', `Bearer${' '.repeat(50)}!`],
  ])('a header of 200 kB of %s is answered', (_rule, piece) => {
    const header = piece.repeat(Math.ceil(200_000 / piece.length))
    expect(parseWwwAuthenticate(`Basic realm=x,${header}`)[0]?.scheme).toBe('basic')
  })
})
