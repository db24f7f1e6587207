import * as fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'

import {
  constantTimeEqual,
  createCodeVerifier,
  deriveCodeChallenge,
  isCodeChallenge,
  isCodeVerifier,
  matchesCodeChallenge,
} from './pkce.ts'

// RFC 7636 appendix B
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const verifierBytes = [
  116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191,
  240, 91, 88, 5, 88, 83, 132, 141, 121,
]

test('RFC 7636 appendix B: the bytes of the example give its verifier, and that its challenge', async () => {
  expect(createCodeVerifier(() => Uint8Array.from(verifierBytes))).toBe(verifier)
  expect(await deriveCodeChallenge(verifier)).toBe(challenge)
  expect(await matchesCodeChallenge(verifier, challenge)).toBe(true)
})

test.each([
  ['43 characters', 'a'.repeat(43), true],
  ['128 characters', 'a'.repeat(128), true],
  ['all unreserved marks', `-._~${'A9'.repeat(20)}`, true],
  ['42 characters', 'a'.repeat(42), false],
  ['129 characters', 'a'.repeat(129), false],
  ['empty', '', false],
  ['a plus', `${'a'.repeat(43)}+`, false],
  ['a slash', `${'a'.repeat(43)}/`, false],
  ['padding', `${'a'.repeat(43)}=`, false],
  ['a space', `${'a'.repeat(43)} `, false],
  ['a final line end', `${'a'.repeat(43)}\n`, false],
  ['a leading line', `x\n${'a'.repeat(43)}`, false],
  ['non-ASCII letters', 'é'.repeat(43), false],
])(
  'isCodeVerifier accepts 43 to 128 unreserved characters (RFC 7636 section 4.1): %s',
  (_rule, text, valid) => {
    expect(isCodeVerifier(text)).toBe(valid)
  },
)

test.each([
  ['a SHA-256', challenge, true],
  ['42 characters', challenge.slice(1), false],
  ['44 characters', `${challenge}A`, false],
  ['padding', `${challenge.slice(1)}=`, false],
  ['a dot, legal in a verifier', `${challenge.slice(1)}.`, false],
  ['a tilde, legal in a verifier', `${challenge.slice(1)}~`, false],
  ['the standard alphabet', `${challenge.slice(1)}+`, false],
  ['a final line end', `${challenge}\n`, false],
  ['empty', '', false],
])('isCodeChallenge accepts what S256 gives (RFC 7636 section 4.2): %s', (_rule, text, valid) => {
  expect(isCodeChallenge(text)).toBe(valid)
})

it('createCodeVerifier takes 256 random bits, and returns a valid verifier (RFC 7636 section 7.1)', () => {
  const asked: number[] = []
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const made = createCodeVerifier((length) => {
        asked.push(length)
        return bytes
      })
      expect(isCodeVerifier(made)).toBe(true)
    }),
  )
  expect(new Set(asked)).toEqual(new Set([32]))
})

describe('matchesCodeChallenge (RFC 7636 section 4.6)', () => {
  test.each([
    ['another verifier', `${verifier.slice(0, -1)}K`, challenge],
    ['another challenge', verifier, `${challenge.slice(0, -1)}A`],
    ['plain: the verifier as its own challenge', verifier, verifier],
    [
      'RFC 7636 4.1: a short verifier with its true challenge',
      'a',
      'ypeBEsobvcr6wjGzmiPcTaeG7_gUfE5yuYB3ha_uSLs',
    ],
    ['an empty challenge', verifier, ''],
    ['a padded challenge', verifier, `${challenge}=`],
    ['both empty', '', ''],
  ])('matchesCodeChallenge refuses %s', async (_rule, presented, registered) => {
    expect(await matchesCodeChallenge(presented, registered)).toBe(false)
  })

  it('a challenge matches its own verifier only', async () => {
    const verifiers = fc.string({
      unit: fc.constantFrom(...Array.from('ABCxyz019-._~')),
      minLength: 43,
      maxLength: 128,
    })
    await fc.assert(
      fc.asyncProperty(verifiers, verifiers, async (first, second) => {
        const derived = await deriveCodeChallenge(first)
        expect(isCodeChallenge(derived)).toBe(true)
        expect(await matchesCodeChallenge(first, derived)).toBe(true)
        expect(await matchesCodeChallenge(second, derived)).toBe(first === second)
      }),
    )
  })
})

describe('constantTimeEqual', () => {
  it('constantTimeEqual agrees with ===', () => {
    // The last has the low byte of the first.
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', '\0', '\ud800', 'é', 'š'), maxLength: 4 })
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        expect(constantTimeEqual(a, b)).toBe(a === b)
      }),
    )
  })

  it('constantTimeEqual reads both texts to the end', () => {
    const reads: number[] = []
    // Only `length` and `charCodeAt` are used, so a counting object can stand for a string.
    const counted = (text: string): object => ({
      length: text.length,
      charCodeAt: (index: number) => {
        reads.push(index)
        return text.charCodeAt(index)
      },
    })
    Reflect.apply(constantTimeEqual, undefined, [counted('xbcdefgh'), 'abcdefgh'])
    Reflect.apply(constantTimeEqual, undefined, [counted('abcdefgx'), 'abcdefgh'])
    const whole = [0, 1, 2, 3, 4, 5, 6, 7]
    expect(reads).toEqual([...whole, ...whole])
  })
})
