import { expect, test } from 'vitest'
import { maskToken } from './display-text.ts'

test('shows the ends of a token, and nothing of a short one', () => {
  expect(maskToken(`eyJhbG${'x'.repeat(400)}x9Kf`)).toBe('eyJhbG…x9Kf')
  expect(maskToken(`123456${'x'.repeat(30)}7890`)).toBe('123456…7890')
  expect(maskToken('123456789012345678901234567890123456789')).toBe('…')
  expect(maskToken('')).toBe('…')
})
