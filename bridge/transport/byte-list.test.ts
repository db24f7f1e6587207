import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { array, assert, property, uint8Array } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createByteList } from './byte-list.ts'

describe('a list of bytes', () => {
  it('gives back what was put in, whatever the size of the pieces, and is empty then', () => {
    const pieces = array(
      uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
      { maxLength: 300 },
    )
    assert(
      property(pieces, (given) => {
        const list = createByteList()
        const large = Buffer.alloc(70_000, 7)
        const all = given.flatMap((piece, index) => (index % 100 === 99 ? [piece, large] : [piece]))
        for (const piece of all) list.push(piece)
        const expected = Buffer.concat(all)
        expect(list.length).toBe(expected.length)
        expect(list.take().equals(expected)).toBe(true)
        expect(list.length).toBe(0)
        list.push(Buffer.from('again'))
        expect(list.take().toString()).toBe('again')
      }),
    )
  })

  it('of one piece is that piece, and not a copy', () => {
    const piece = Buffer.from('once')
    const list = createByteList()
    list.push(Buffer.alloc(0))
    list.push(piece)
    expect(list.take()).toBe(piece)
    expect(list.take()).toHaveLength(0)
  })

  it('of pieces of one memory, one behind the other, is that memory', () => {
    const memory = Buffer.allocUnsafeSlow(200_000).fill('x')
    const list = createByteList()
    for (const [from, to] of [
      [0, 10],
      [10, 70_000],
      [70_000, 70_001],
      [70_001, 200_000],
    ] as const)
      list.push(memory.subarray(from, to))
    const whole = list.take()
    expect(whole).toEqual(memory)
    expect(whole.buffer).toBe(memory.buffer)
    list.push(memory.subarray(5, 10))
    list.push(memory.subarray(0, 5))
    expect(list.take().buffer).not.toBe(memory.buffer)
  })

  it('keeps small pieces apart from the large memory that they are a part of', () => {
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc') as () => void
    const list = createByteList()
    collectGarbage()
    const before = process.memoryUsage().arrayBuffers
    for (let piece = 0; piece < 4000; piece += 1) list.push(Buffer.alloc(65_536).subarray(0, 5000))
    // What one collection finds is given back beside the program, by the next one at the latest.
    collectGarbage()
    collectGarbage()
    expect(list.length).toBe(20_000_000)
    // 262 MB were read for it.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(130_000_000)
    expect(list.take()).toHaveLength(20_000_000)
  })
})
