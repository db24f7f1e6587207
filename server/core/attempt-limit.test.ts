import { beforeEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../store/memory/memory.ts'
import { createFakeRuntime, type FakeRuntime } from '../testing/fake-runtime.ts'
import { start } from '../testing/grant-sample.ts'
import { addressKey, type AttemptLimit, countWithin } from './attempt-limit.ts'
import type { Store } from './store.ts'

const mine: AttemptLimit = { key: 'mine', most: 2, windowSeconds: 60 }
const all: AttemptLimit = { key: 'all', most: 3, windowSeconds: 600 }

let runtime: FakeRuntime
let store: Store
let written: string[]
beforeEach(() => {
  runtime = createFakeRuntime(start)
  const { countAttempt, ...rest } = createMemoryStore()
  written = []
  store = {
    ...rest,
    countAttempt(key, ...given) {
      written.push(key)
      return countAttempt(key, ...given)
    },
  }
})

const count = (...limits: AttemptLimit[]): Promise<number> => countWithin(limits, { store, runtime })

describe('countWithin', () => {
  it('answers the seconds until the window ends, and counts anew from then on', async () => {
    expect([await count(mine), await count(mine)]).toEqual([0, 0])
    runtime.advance(59)
    expect(await count(mine)).toBe(1)
    runtime.advance(1)
    expect(await count(mine)).toBe(0)
  })

  it('what one limit refuses is not counted by the next', async () => {
    for (let index = 0; index < 9; index += 1) await count(mine, all)
    expect(await count({ ...mine, key: 'other' }, all)).toBe(0)
    expect(await count({ ...mine, key: 'third' }, all)).toBe(600)
  })

  it('a limit that is known to be full takes nothing from those before it', async () => {
    for (let index = 0; index < 3; index += 1) await count(all)
    expect(await count(mine, all)).toBe(600)
    runtime.advance(600)
    expect([await count(mine, all), await count(mine, all)]).toEqual([0, 0])
  })

  it('what is full is not written again, and is full for other instances as well', async () => {
    for (let index = 0; index < 9; index += 1) await count(mine)
    expect(written).toHaveLength(2)
    const instance = { ...store }
    expect(await countWithin([mine], { store: instance, runtime })).toBe(60)
  })
})

describe('addressKey', () => {
  it('tells kinds and sources apart, and says neither address nor network', () => {
    const key = addressKey('start', '2001:db8::1')
    expect(addressKey('start', '2001:db8::2')).toBe(key)
    expect(addressKey('start', '2001:db8:0:1::1')).not.toBe(key)
    expect(addressKey('other', '2001:db8::1').split(' ')[1]).not.toBe(key.split(' ')[1])
    expect(key).toMatch(/^start [A-Za-z0-9_-]{43}$/)
  })
})
