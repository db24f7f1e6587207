import { integer, readConfigureGlobal, sample } from 'fast-check'
import { expect, it } from 'vitest'

it('a property draws the same cases each time, of the seed in FUZZ_SEED or 1', () => {
  expect(readConfigureGlobal()?.seed).toBe(Number(process.env['FUZZ_SEED'] ?? 1))
  expect(sample(integer(), 20)).toEqual(sample(integer(), 20))
})
