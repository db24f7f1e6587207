import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeRefreshToken, encodeRefreshToken, isRefreshToken } from './refresh-token.ts'

const CLAIM = { sessionId: '0c6e9f5a-1f35-4a4b-9a51-5f2a6f0b8d11', counter: 7 }
const KEY = Buffer.alloc(32, 1)

describe('a refresh token', () => {
  it('says which session and which turn it is of', () => {
    const token = encodeRefreshToken(CLAIM, KEY)
    expect(decodeRefreshToken(token)).toEqual(CLAIM)
    expect(isRefreshToken(token, KEY)).toBe(true)
    expect(token).toMatch(/^[\w-]{48}$/)
  })

  it('is the same each time it is derived, and another for each turn and each key', () => {
    const token = encodeRefreshToken(CLAIM, KEY)
    expect(encodeRefreshToken(CLAIM, KEY)).toBe(token)
    expect(encodeRefreshToken({ ...CLAIM, counter: 8 }, KEY)).not.toBe(token)
    expect(isRefreshToken(token, Buffer.alloc(32, 2))).toBe(false)
  })

  it('is refused with any one character changed', () => {
    const token = encodeRefreshToken(CLAIM, KEY)
    for (let index = 0; index < token.length; index++) {
      const changed = token.slice(0, index) + (token[index] === 'A' ? 'B' : 'A') + token.slice(index + 1)
      expect([index, isRefreshToken(changed, KEY)]).toEqual([index, false])
    }
  })

  it.each(['', 'x', 'not base64url!', 'A'.repeat(47), 'A'.repeat(52), `${'A'.repeat(47)}=`])(
    '%j is none',
    (text) => {
      expect(decodeRefreshToken(text)).toBeUndefined()
      expect(isRefreshToken(text, KEY)).toBe(false)
    },
  )

  it('of any session and turn is read back, by the key that made it only', () => {
    const key = fc.uint8Array({ minLength: 32, maxLength: 32 })
    fc.assert(
      fc.property(fc.uuid(), fc.nat(0xffffffff), key, key, (sessionId, counter, one, two) => {
        const token = encodeRefreshToken({ sessionId, counter }, one)
        expect(decodeRefreshToken(token)).toEqual({ sessionId, counter })
        expect(isRefreshToken(token, one)).toBe(true)
        expect(isRefreshToken(token, two)).toBe(Buffer.compare(one, two) === 0)
      }),
    )
  })
})
