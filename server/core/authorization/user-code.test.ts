import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { createUserCode, normaliseUserCode } from './user-code.ts'

const { randomBytes } = createFakeRuntime()

describe('createUserCode (RFC 8628 section 6.1)', () => {
  it('RFC 8628 6.1: a user code has eight letters without vowels, in two groups', () => {
    for (let count = 0; count < 200; count += 1) {
      expect(createUserCode(randomBytes)).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    }
  })

  it('RFC 8628 5.1: every letter of a user code is equally likely: bytes beyond the last whole alphabet are dropped', () => {
    const drawn = [new Uint8Array(8).fill(255), new Uint8Array(8).fill(240), new Uint8Array(8).fill(239)]
    expect(createUserCode(() => drawn.shift() ?? new Uint8Array(8))).toBe('ZZZZ-ZZZZ')
    expect(drawn).toHaveLength(0)
  })

  it('createUserCode draws again if a draw gives too few letters', () => {
    const drawn = [Uint8Array.from([0, 255, 1, 255, 2, 255, 3, 255]), new Uint8Array(8).fill(4)]
    expect(createUserCode(() => drawn.shift() ?? new Uint8Array(8))).toBe('BCDF-GGGG')
  })
})

it.each<[rule: string, typed: string, code: string | undefined]>([
  ['as shown', 'WDJB-MJHT', 'WDJB-MJHT'],
  ['in small letters', 'wdjb-mjht', 'WDJB-MJHT'],
  ['with blanks', '  WDJB MJHT ', 'WDJB-MJHT'],
  ['with another dash', 'WDJB–MJHT', 'WDJB-MJHT'],
  ['in wide letters of an input method', 'ＷＤＪＢ－ＭＪＨＴ', 'WDJB-MJHT'],
  ['one letter short', 'WDJB-MJH', undefined],
  ['with a vowel', 'WDJB-MJHA', undefined],
  ['endless', 'WDJB-MJHT'.padEnd(65, ' '), undefined],
])('normaliseUserCode (RFC 8628 section 6.1): %s', (_rule, typed, code) => {
  expect(normaliseUserCode(typed)).toBe(code)
})
