import { expect, it } from 'vitest'
import { isUrl } from './url.ts'

it.each([
  ['https://example.com', undefined, true],
  ['https://bücher.example/ä', undefined, true],
  ['urn:x', undefined, true],
  ['/path', undefined, false],
  ['/path', 'https://example.com', true],
  ['//[', 'https://example.com', false],
  ['https://', undefined, false],
  ['', undefined, false],
] as const)('%j with the base %j is a URL: %s, however often it is asked', (text, base, expected) => {
  const answers = new Set(Array.from({ length: 20_000 }, () => isUrl(text, base)))
  expect([...answers]).toEqual([expected])
})
