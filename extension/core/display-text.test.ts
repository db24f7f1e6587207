import { expect, test } from 'vitest'
import { displayText, maskToken } from './display-text.ts'

test.each([
  ['ada@example.com', 'ada@example.com'],
  ['<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>'],
  ['Zoë, 李雷, سارا، نی\u200Cنا', 'Zoë, 李雷, سارا، نی\u200Cنا'],
  ['two\r\nlines\u2028three', 'two\uFFFD\uFFFDlines\uFFFDthree'],
  ['\u202Emoc.elpmaxe@live\u2066x', '\uFFFDmoc.elpmaxe@live\uFFFDx'],
  ['a\u0000b\u001B[31m\u009F', 'a\uFFFDb\uFFFD[31m\uFFFD'],
])('displayText shows %j as %j', (text, shown) => {
  expect(displayText(text)).toBe(shown)
})

test('displayText cuts text at the given length', () => {
  expect(displayText('x'.repeat(200))).toHaveLength(200)
  expect(displayText('x'.repeat(201))).toBe(`${'x'.repeat(200)}…`)
  expect(displayText('abcdef', 3)).toBe('abc…')
})

test('maskToken masks the middle of a token, and all of a short one', () => {
  expect(maskToken(`eyJhbG${'x'.repeat(400)}x9Kf`)).toBe('eyJhbG…x9Kf')
  expect(maskToken(`123456${'x'.repeat(30)}7890`)).toBe('123456…7890')
  expect(maskToken('123456789012345678901234567890123456789')).toBe('…')
  expect(maskToken('')).toBe('…')
})
