import { expect, it } from 'vitest'
import { startRefusalDelay } from './sign-in-answer.ts'

it.each([
  [0, [500]],
  [120.4, [380]],
  [499.9, [1]],
  [500, []],
  [2000, []],
])('a refusal that took %f ms waits %j ms more', async (took, waited) => {
  const slept: number[] = []
  const times = [1000, 1000 + took]
  const refusalDue = startRefusalDelay(
    { sleep: async (ms) => void slept.push(ms) },
    () => times.shift() ?? Number.NaN,
  )
  await refusalDue()
  expect(slept).toEqual(waited)
})
