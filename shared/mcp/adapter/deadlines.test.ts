import { expect, it } from 'vitest'
import { createFakeClock } from '../../../tests/support/adapter/fakes.ts'
import { Deadlines } from './deadlines.ts'

it('expires what is due, in order, once, and not what was taken back', async () => {
  const clock = createFakeClock()
  const deadlines = new Deadlines(clock)
  const seen: string[] = []
  deadlines.after(30, () => seen.push('late'))
  deadlines.after(10, () => seen.push('early'))
  const clear = deadlines.after(10, () => seen.push('never'))
  clear()
  await clock.advance(9)
  expect(seen).toEqual([])
  await clock.advance(7)
  expect(seen).toEqual(['early'])
  deadlines.after(1, () => seen.push('between'))
  await clock.advance(6)
  expect(seen).toEqual(['early', 'between'])
  await clock.advance(100)
  expect(seen).toEqual(['early', 'between', 'late'])
})

it('sleeps only while there is something to expire, once at a time', async () => {
  const clock = createFakeClock()
  let asleep = 0
  const deadlines = new Deadlines({
    ...clock,
    async sleep(ms) {
      asleep += 1
      expect(asleep).toBe(1)
      await clock.sleep(ms)
      asleep -= 1
    },
  })
  for (const seconds of [1, 20, 3]) deadlines.after(seconds, () => {})
  await clock.advance(40)
  expect(asleep).toBe(0)
  deadlines.after(3, () => {})
  await clock.advance(1)
  expect(asleep).toBe(1)
  deadlines.close()
  await clock.advance(10)
  expect(asleep).toBe(0)
  deadlines.after(1, () => expect.unreachable())
  await clock.advance(10)
  expect(asleep).toBe(0)
})
