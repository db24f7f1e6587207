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
    ['hunter22', 'xhunter22x', 'x[secret]x'],
    ['hunter2', 'client_secret%3Dhunter2%26x', 'client_secret%3D[secret]%26x'],
    ['$&$&', 'x$&$&x', 'x[secret]x'],
    ['is', 'The secret is what it is', 'The secret is what it is'],
    ['', 'abc', 'abc'],
  ])('%s in "%s"', (secret, text, expected) => {
    expect(redactSecrets(text, [secret], '[secret]')).toBe(expected)
  })

  it('that is a part of another one leaves nothing of it', () => {
    expect(redactSecrets('x long-secret-1 x', ['secret', 'long-secret-1'], '*')).toBe('x * x')
  })
})
