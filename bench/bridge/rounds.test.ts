import { describe, expect, it } from 'vitest'
import { createRounds, type Rounds } from './rounds.ts'

/** Ours takes twice as long as theirs and one more, while the machine gets slower and slower. */
function slowingDown(): Rounds {
  const rounds = createRounds()
  for (const theirs of [10, 20, 1000]) {
    rounds.add('ours', 2 * theirs + 1)
    rounds.add('theirs', theirs)
    rounds.next()
  }
  return rounds
}

describe('rounds', () => {
  it('compare values of the same round', () => {
    const rounds = slowingDown()
    expect(rounds.of('ours')).toEqual({ value: 41, low: 21, high: 2001 })
    expect(rounds.ratio('ours', 'theirs')).toEqual({ value: 2.05, low: 2.001, high: 2.1 })
    expect(rounds.difference('ours', 'theirs')).toEqual({ value: 21, low: 11, high: 1001 })
  })

  it('leave out the rounds that one of the two has failed in', () => {
    const rounds = slowingDown()
    rounds.add('ours', 1)
    rounds.next()
    rounds.add('theirs', 1)
    expect(rounds.ratio('ours', 'theirs').value).toBe(2.05)
  })

  it('know nothing of who was never measured', () => {
    const rounds = slowingDown()
    expect(rounds.of('nobody')).toEqual({ value: Number.NaN, low: Number.NaN, high: Number.NaN })
    expect(rounds.ratio('ours', 'nobody').value).toBeNaN()
  })

  it('take one value of everybody', () => {
    const rounds = createRounds()
    rounds.add('ours', 1)
    expect(() => rounds.add('ours', 2)).toThrow('ours was already measured in this round.')
    rounds.next()
    rounds.add('ours', 2)
    expect(rounds.of('ours').value).toBe(2)
  })
})
