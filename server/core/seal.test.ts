import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../tests/support/server/fake-runtime.ts'
import {
  createSealer,
  fixedKeyRing,
  hashSecret,
  openUnderSecret,
  sealingKeyOf,
  sealUnderSecret,
  type SealingKey,
} from './seal.ts'

const { randomBytes } = createFakeRuntime()
const keyOf = (kid: string, fill: number): SealingKey => ({ kid, key: new Uint8Array(32).fill(fill) })
const old = keyOf('old', 1)
const current = keyOf('current', 2)
const sealer = createSealer(fixedKeyRing([current, old]), randomBytes)
const plaintext = 'access and refresh'

/** Replaces the character at `index` of `text` with another of the alphabet. */
function damaged(text: string, index: number): string {
  const at = index < 0 ? text.length + index : index
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
}

describe('createSealer', () => {
  it('a sealer opens its own sealed texts: any text in any context', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (text, context) => {
        expect(sealer.open(sealer.seal(text, context), context)).toBe(text)
      }),
    )
  })

  it('a sealer seals with the first key and names it', () => {
    expect(sealer.seal(plaintext, 'c')).toMatch(/^current\.[A-Za-z0-9_-]+$/)
  })

  it('a sealer opens with every key of the ring', () => {
    const sealed = createSealer(fixedKeyRing([old]), randomBytes).seal(plaintext, 'c')
    expect(sealer.open(sealed, 'c')).toBe(plaintext)
  })

  it('a sealer never makes the same text twice, and none holds the plaintext', () => {
    const sealed = new Set(Array.from({ length: 100 }, () => sealer.seal(plaintext, 'c')))
    expect(sealed.size).toBe(100)
    for (const text of sealed) expect(Buffer.from(text.slice(8), 'base64url').includes('access')).toBe(false)
  })

  const sealed = sealer.seal(plaintext, 'row 1 version 1')
  it.each([
    ['another row', sealed, 'row 2 version 1'],
    ['another version', sealed, 'row 1 version 2'],
    ['no context', sealed, ''],
    ['a damaged IV', damaged(sealed, 'current.'.length), 'row 1 version 1'],
    ['a damaged ciphertext', damaged(sealed, 'current.'.length + 20), 'row 1 version 1'],
    ['a damaged tag', damaged(sealed, -5), 'row 1 version 1'],
    ['padding', `${sealed}=`, 'row 1 version 1'],
    ['the name of another key', sealed.replace('current', 'old'), 'row 1 version 1'],
    ['a key that is not in the ring', sealed.replace('current', 'gone'), 'row 1 version 1'],
    ['no key name', sealed.slice('current'.length), 'row 1 version 1'],
    ['less than IV and tag', 'current.AAAA', 'row 1 version 1'],
    ['nothing', '', 'row 1 version 1'],
  ])('a sealer does not open %s', (_what, text, context) => {
    expect(sealer.open(text, context)).toBeUndefined()
  })

  it('a sealer does not open under another key of the same name', () => {
    const replaced = createSealer(fixedKeyRing([keyOf('current', 3)]), randomBytes)
    expect(replaced.open(sealed, 'row 1 version 1')).toBeUndefined()
  })

  it('a sealer refuses an empty ring', () => {
    expect(() => fixedKeyRing([])).toThrow(TypeError)
    const emptied = createSealer({ keys: () => [], refresh: () => {} }, randomBytes)
    expect(() => emptied.seal(plaintext, 'c')).toThrow(TypeError)
    expect(emptied.open(sealed, 'row 1 version 1')).toBeUndefined()
  })
})

describe('a key ring that changes while it is in use', () => {
  const added = keyOf('added', 3)

  /** Creates a ring of `before` that becomes `after` on refresh. */
  function changingRing(before: SealingKey[], after: SealingKey[]) {
    let keys = before
    let refreshed = 0
    return {
      keys: () => keys,
      refresh() {
        refreshed += 1
        keys = after
      },
      refreshed: () => refreshed,
    }
  }

  it('a key that a refresh finds opens', () => {
    const sealed = createSealer(fixedKeyRing([added]), randomBytes).seal(plaintext, 'c')
    const ring = changingRing([current, old], [added, current, old])
    expect(createSealer(ring, randomBytes).open(sealed, 'c')).toBe(plaintext)
    expect(ring.refreshed()).toBe(1)
  })

  it('a key that a refresh does not find either: looked for once, and the value does not open', () => {
    const sealed = createSealer(fixedKeyRing([added]), randomBytes).seal(plaintext, 'c')
    const ring = changingRing([current], [old, current])
    expect(createSealer(ring, randomBytes).open(sealed, 'c')).toBeUndefined()
    expect(ring.refreshed()).toBe(1)
  })

  it.each([
    ['of a known key', sealer.seal(plaintext, 'c')],
    ['of a known key that does not open', damaged(sealer.seal(plaintext, 'c'), -5)],
    ['that is empty', ''],
  ])('a value %s causes no refresh', (_what, sealed) => {
    const ring = changingRing([current, old], [])
    createSealer(ring, randomBytes).open(sealed, 'c')
    expect(ring.refreshed()).toBe(0)
  })

  it('a sealer seals with the first key after a refresh', () => {
    const ring = changingRing([current], [added, current])
    const changing = createSealer(ring, randomBytes)
    expect(sealingKeyOf(changing.seal(plaintext, 'c'))).toBe('current')
    ring.refresh()
    expect(sealingKeyOf(changing.seal(plaintext, 'c'))).toBe('added')
  })
})

it.each([
  ['current.AAAA', 'current'],
  ['no dot', ''],
  ['', ''],
])('sealingKeyOf: %j needs the key %j', (sealed, kid) => {
  expect(sealingKeyOf(sealed)).toBe(kid)
})

describe('sealUnderSecret', () => {
  const secret = 'mcpr_a-token-of-256-random-bits'
  const sealed = sealUnderSecret(plaintext, secret, 'context', randomBytes)

  it('a text sealed with a secret opens with it', () => {
    expect(openUnderSecret(sealed, secret, 'context')).toBe(plaintext)
  })

  it.each([
    ['another secret', sealed, `${secret}x`, 'context'],
    ['the stored hash of the secret', sealed, hashSecret(secret), 'context'],
    ['another context', sealed, secret, 'other'],
    ['a damaged text', damaged(sealed, 30), secret, 'context'],
    ['nothing', '', secret, 'context'],
  ])('a text sealed with a secret does not open with %s', (_what, text, presented, context) => {
    expect(openUnderSecret(text, presented, context)).toBeUndefined()
  })
})

it('hashSecret: is SHA-256 in base64url', () => {
  // FIPS 180-4, the example "abc".
  const expected = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  expect(Buffer.from(hashSecret('abc'), 'base64url').toString('hex')).toBe(expected)
})
