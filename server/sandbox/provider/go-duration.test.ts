import { describe, expect, it } from 'vitest'
import { parseGoDuration } from './go-duration.ts'

describe('a duration of Go', () => {
  it.each([
    ['876000h', 3_153_600_000],
    ['1h30m', 5400],
    ['1.5h', 5400],
    ['90s', 90],
    ['2m0.5s', 120.5],
    ['1500ms', 1.5],
    ['-1h', -3600],
    ['+1m', 60],
    ['0', 0],
  ])('%j is %d seconds', (text, seconds) => {
    expect(parseGoDuration(text)).toBeCloseTo(seconds, 9)
  })

  it.each(['', '1', '1d', 'h', '1h ', ' 1h', '1h30', 'none', '1 h', '.h', '1.2.3h'])('%j is none', (text) => {
    expect(parseGoDuration(text)).toBeUndefined()
  })
})
