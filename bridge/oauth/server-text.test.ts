import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { quoteServerError, quoteServerText, redactSecrets } from './server-text.ts'

it('is printable ASCII on one line, whatever a server writes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (error, description) => {
      expect(quoteServerError(error, description)).toMatch(/^[\x20-\x7E]*$/)
      expect(quoteServerText(description)).toMatch(/^".*"$/)
    }),
  )
})

it('says the same, as JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      expect(JSON.parse(quoteServerText(text))).toBe(text)
    }),
  )
})

it.each([
  ['invalid_grant', undefined, 'invalid_grant'],
  ['invalid_grant', 'No such "code".', String.raw`invalid_grant: "No such \"code\"."`],
  ['Type: rm -rf', undefined, '"Type: rm -rf"'],
  ['x', '\u001B[2J\u009B2J\u202E', String.raw`x: "\u001b[2J\u009b2J\u202e"`],
])('%s with %s', (error, description, text) => {
  expect(quoteServerError(error, description)).toBe(text)
})

it('is cut when it is long', () => {
  expect(quoteServerText('x'.repeat(1_000_000)).length).toBeLessThan(400)
})

describe('a secret', () => {
  it.each<[secret: string, text: string, expected: string]>([
    // One to three characters: a value, never a letter or a word.
    ['a', 'a client that was not allowed', 'a client that was not allowed'],
    ['is', 'The secret is what it is', 'The secret is what it is'],
    ['401', '401 from https://mcp.example.com', '401 from https://mcp.example.com'],
    ['a', 'client_id=a1&client_secret=a&x=ab', 'client_id=a1&client_secret=[secret]&x=ab'],
    ['a', `The secret "a" is wrong, 'a' too`, `The secret "[secret]" is wrong, '[secret]' too`],
    ['ab', '{"client_secret":"ab","hint":"abc"}', '{"client_secret":"[secret]","hint":"abc"}'],
    ['ab', 'client_secret: ab, key:ab, drab: ab', 'client_secret: [secret], key:[secret], drab: ab'],
    ['ab', 'body%3Dab%26', 'body%3D[secret]%26'],
    ['.*', 'every=.*&all=xx', 'every=[secret]&all=xx'],
    // Four to seven: a whole word.
    ['hunt', 'the hunter hunts; hunt is wrong', 'the hunter hunts; [secret] is wrong'],
    ['hunter2', 'Wrong:hunter2.', 'Wrong:[secret].'],
    ['hunter2', 'client_secret%3Dhunter2%26x', 'client_secret%3D[secret]%26x'],
    ['!pass', 'so!pass is, !passed not', 'so[secret] is, !passed not'],
    ['pass!', 'pass!x', '[secret]x'],
    ['über', 'herüber über', 'herüber [secret]'],
    // Eight or more: anywhere.
    ['hunter22', 'xhunter22x', 'x[secret]x'],
    ['$&$&$&$&', 'x$&$&$&$&x', 'x[secret]x'],
    ['', 'abc', 'abc'],
  ])('%s in "%s"', (secret, text, expected) => {
    expect(redactSecrets(text, [secret], '[secret]')).toBe(expected)
  })

  it('that is a part of another one leaves nothing of it', () => {
    expect(redactSecrets('x long-secret-1 x', ['secret', 'long-secret-1'], '*')).toBe('x * x')
  })

  it.each([
    ['of any kind never stays as the value of a form', 1],
    ['of eight characters never stays anywhere', 8],
  ])('%s', (_, least) => {
    fc.assert(
      fc.property(fc.string({ minLength: least, maxLength: 12, unit: 'grapheme' }), (secret) => {
        const value = least === 1 ? new URLSearchParams({ v: secret }).toString().slice(2) : secret
        const [before, after] = least === 1 ? ['client_secret=', '&\u0001'] : ['\u0001', '\u0001']
        const text = `${before}${value}${after}`
        const expected = `${before}\u0000${after}`
        expect(redactSecrets(text, [value], '\u0000')).toBe(expected)
      }),
    )
  })
})
