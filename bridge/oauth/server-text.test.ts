import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { quoteServerError, quoteServerText, redactSecrets } from './server-text.ts'

it('a quoted text is printable ASCII on one line, whatever a server writes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (error, description) => {
      expect(quoteServerError(error, description)).toMatch(/^[\x20-\x7E]*$/)
      expect(quoteServerText(description)).toMatch(/^".*"$/)
    }),
  )
})

it('a quoted text is JSON of the same text', () => {
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
])(
  'quoteServerError makes one printable line of the error %s and the description %s',
  (error, description, text) => {
    expect(quoteServerError(error, description)).toBe(text)
  },
)

it('a long text is cut when it is quoted', () => {
  expect(quoteServerText('x'.repeat(1_000_000)).length).toBeLessThan(400)
})

it.each<[secret: string, text: string, expected: string]>([
  ['hunter22', 'xhunter22x', 'x[secret]x'],
  ['hunter2', 'client_secret%3Dhunter2%26x', 'client_secret%3D[secret]%26x'],
  ['$&$&', 'x$&$&x', 'x[secret]x'],
  ['is', 'The secret is what it is', 'The secret is what it is'],
  ['', 'abc', 'abc'],
])('redactSecrets replaces the secret %s in "%s"', (secret, text, expected) => {
  expect(redactSecrets(text, [secret], '[secret]')).toBe(expected)
})

it('redactSecrets leaves nothing of a secret that contains another one', () => {
  expect(redactSecrets('x long-secret-1 x', ['secret', 'long-secret-1'], '*')).toBe('x * x')
})
