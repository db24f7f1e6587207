import { describe, expect, it } from 'vitest'
import { durationText } from './duration-text.ts'

describe('a duration for people', () => {
  it.each([
    [-5, '0 s'],
    [0, '0 s'],
    [59, '59 s'],
    [60, '1 min'],
    [61, '1 min 1 s'],
    [3599, '59 min 59 s'],
    [3600, '1 h'],
    [3605, '1 h'],
    [3660, '1 h 1 min'],
    [90_061, '1 d 1 h'],
    [86_400 * 30, '30 d'],
    [86_400 + 59, '1 d'],
  ])('%d seconds is %s', (seconds, text) => {
    expect(durationText(seconds)).toBe(text)
  })
})
