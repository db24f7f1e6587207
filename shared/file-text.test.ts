import { expect, it } from 'vitest'
import { decodeFileText } from './file-text.ts'

const utf8 = new TextEncoder()

it.each<[what: string, bytes: Uint8Array]>([
  ['UTF-8', utf8.encode('a\u20ac\n')],
  ['UTF-8 with a byte order mark', utf8.encode('\uFEFFa\u20ac\n')],
  ['UTF-16 little endian', Uint8Array.of(0xff, 0xfe, 0x61, 0, 0xac, 0x20, 0x0a, 0)],
])('fileText reads %s', (_what, bytes) => {
  expect(decodeFileText(bytes)).toBe('a\u20ac\n')
})

it('fileText drops one byte order mark only, and reads an empty file', () => {
  expect(decodeFileText(utf8.encode('\uFEFF\uFEFFa'))).toBe('\uFEFFa')
  expect(decodeFileText(new Uint8Array())).toBe('')
})
