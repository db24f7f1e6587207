import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createUuid, formatUuid, isUuid } from './uuid.ts'

describe('a UUID', () => {
  it('is of version 4 whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const uuid = createUuid({ randomBytes: () => bytes })
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(isUuid(uuid)).toBe(true)
      }),
    )
  })

  it('is its bytes in hexadecimal', () => {
    const bytes = Uint8Array.from({ length: 16 }, (_, index) => index * 17)
    expect(formatUuid(bytes)).toBe('00112233-4455-6677-8899-aabbccddeeff')
  })

  it.each([
    '',
    'x',
    '00112233445566778899aabbccddeeff',
    '00112233-4455-6677-8899-aabbccddeef',
    '00112233-4455-6677-8899-AABBCCDDEEFF',
    '00112233-4455-6677-8899-aabbccddeeff\n',
    7,
    undefined,
    null,
  ])('is not %j', (value) => {
    expect(isUuid(value)).toBe(false)
  })
})
