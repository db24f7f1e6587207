import { expect, it } from 'vitest'
import { jsonForTerminal } from './json-text.ts'

it.each([
  '\u0085',
  '\u009b2J',
  '\u007f',
  '\u200e',
  '\u202e',
  '\u2028',
  '\u2029',
  '\u2066',
  '\ufeff',
  '\u061c',
  '\u001b',
])('JSON for a terminal has no character that moves one, and reads the same: %j', (text) => {
  const value = { name: `a${text}b`, [text]: ['ä', '𝒳', text] }
  const written = jsonForTerminal(value)
  expect(written).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  expect(JSON.parse(written)).toEqual(value)
  expect(written).toContain('ä')
})
