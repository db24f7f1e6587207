import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasEnded, isRefreshDue } from './stored-tokens.ts'

const tokens = (lifetime: number): { accessToken: string; issuedAt: number; expiresAt: number } => ({
  accessToken: 'a',
  issuedAt: 1000,
  expiresAt: 1000 + lifetime,
})

describe('tokens are renewed', () => {
  it.each([
    [3600, 0, 60],
    [3600, 1, 66],
    [7 * 86_400, 0, 60],
    [300, 0, 30],
    [90, 0, 10],
    [90, 1, 11],
    [30, 0, 10],
    [15, 0, 7.5],
    [3, 0, 1.5],
    [3, 1, 1.5],
    [0, 0, 0],
  ])('of %i s lifetime with jitter %f: %f s before their end', (lifetime, jitter, margin) => {
    const due = 1000 + lifetime - margin
    expect(isRefreshDue(tokens(lifetime), Math.ceil(due), jitter)).toBe(true)
    expect(isRefreshDue(tokens(lifetime), Math.ceil(due) - 1, jitter)).toBe(false)
  })

  it('never without a known expiry', () => {
    expect(isRefreshDue({ accessToken: 'a', issuedAt: 1000 }, 1e12, 1)).toBe(false)
    expect(hasEnded({ accessToken: 'a', issuedAt: 1000 }, 1e12)).toBe(false)
  })

  it('in the second half of their life, and before they end, whatever the clock did when they were issued', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.integer({ min: 0, max: 1e6 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (lifetime, after, jitter) => {
          const now = 1000 + after
          if (hasEnded(tokens(lifetime), now)) expect(isRefreshDue(tokens(lifetime), now, jitter)).toBe(true)
          if (after < lifetime / 2) expect(isRefreshDue(tokens(lifetime), now, jitter)).toBe(false)
        },
      ),
    )
  })
})
