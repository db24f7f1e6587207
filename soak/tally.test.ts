import { expect, it } from 'vitest'
import type { Instance } from './instances.ts'
import { checkLogs } from './soak.ts'
import { createTally, soakFigures } from './tally.ts'

it('the figures of a soak are met when everything required was counted and nothing accused', () => {
  const tally = createTally()
  tally.add('kills', 2)
  tally.add('call 200', 7)
  const figures = soakFigures('soak', tally, { kills: 2 }, 1)
  expect(figures.every(({ ok }) => ok)).toBe(true)
  expect(figures).toContainEqual(expect.objectContaining({ name: 'call 200', value: 7, bar: null }))
  expect(figures).toContainEqual(expect.objectContaining({ name: 'kills', value: 2, goal: '>=' }))
})

it('the figures of a soak miss what was required and not counted', () => {
  const figures = soakFigures('soak', createTally(), { kills: 1 }, 1)
  expect(figures.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['kills'])
})

it('the figures of a soak miss every accusation, and each kind keeps its first five sentences', () => {
  const tally = createTally()
  for (let number = 0; number < 7; number += 1) tally.accuse('grants lost', `number ${number}`)
  tally.accuse('tokens lost', 'x'.repeat(5000))
  const missed = soakFigures('soak', tally, {}, 1).filter(({ ok }) => !ok)
  expect(missed.map(({ name, value }) => [name, value])).toEqual([
    ['grants lost', 7],
    ['tokens lost', 1],
  ])
  expect(tally.accusations()).toHaveLength(6)
  expect(tally.accusations()[4]).toMatch(/^\S+ grants lost: number 4$/)
  expect(tally.accusations()[5]?.length).toBeLessThan(2100)
})

it.each([
  ['grant_ended', 'grants ended by the server'],
  ['provider_session_ended', 'grants ended by the server'],
  ['request_failed', 'failed requests'],
  ['tool_called', undefined],
] as const)('a line of %s in the log of an instance accuses %s', (event, accusation) => {
  const tally = createTally()
  const log = (): string => `no JSON\n${JSON.stringify({ event })}\n{"event":"gra`
  checkLogs([{ log } as Instance], tally)
  expect(tally.names()).toEqual(accusation === undefined ? [] : [accusation])
})
