import { expect, it } from 'vitest'
import { connectionLimit } from './guarded-server.ts'

const mebibyte = 1024 * 1024

it.each<[memory: string, total: number, heap: number, connections: number]>([
  ['a container of 64 MiB', 64, 48, 128],
  ['a container of 512 MiB', 512, 256, 910],
  ['a machine of 2 GiB', 2048, 1024, 3640],
  ['a large machine', 65_536, 4144, 8192],
  ['a small heap on a large machine', 65_536, 100, 355],
])('the connection limit is as high as the memory of %s affords', (_memory, total, heap, connections) => {
  expect(connectionLimit({ total: total * mebibyte, heap: heap * mebibyte })).toBe(connections)
})

it('the connection limit of this process is within its bounds', () => {
  expect(connectionLimit()).toBeGreaterThanOrEqual(128)
  expect(connectionLimit()).toBeLessThanOrEqual(8192)
})
