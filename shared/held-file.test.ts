import { expect, it } from 'vitest'
import { whileHeld } from './held-file.ts'

function failing(code: string, times: number): { work: () => string; count: () => number } {
  let count = 0
  return {
    work() {
      count += 1
      if (count <= times) throw Object.assign(new Error(code), { code })
      return 'done'
    },
    count: () => count,
  }
}

it.each(['EPERM', 'EACCES', 'EBUSY'])(
  'work that Windows refuses with %s is repeated until it is done',
  (code) => {
    const { work, count } = failing(code, 4)
    expect(whileHeld('win32', work)).toBe('done')
    expect(count()).toBe(5)
  },
)

it.each([
  ['win32', 'ENOENT'],
  ['win32', 'ENOSPC'],
  ['linux', 'EPERM'],
  ['darwin', 'EACCES'],
])('work that fails on %s with %s is not repeated', (platform, code) => {
  const { work, count } = failing(code, 1)
  expect(() => whileHeld(platform, work)).toThrow(code)
  expect(count()).toBe(1)
})

it('work on a file that stays held fails within a second or two, with the error of the system', () => {
  const { work, count } = failing('EBUSY', Infinity)
  expect(() => whileHeld('win32', work)).toThrow('EBUSY')
  expect(count()).toBe(11)
})
