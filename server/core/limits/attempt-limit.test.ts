import { beforeEach, describe, expect, it } from 'vitest'
import { createSignal } from '@drawbridge/shared/async.ts'
import { race, start } from '../../../tests/support/server/core/grant-sample.ts'
import { type FakeRuntime, createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import {
  limitKey,
  type AttemptLimit,
  type AttemptSource,
  countWithin,
  doOnce,
  giveBack,
  limitsOf,
} from './attempt-limit.ts'
import type { Store } from '../store.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

const mine: AttemptLimit = { key: 'mine', max: 2, windowSeconds: 60 }
const all: AttemptLimit = { key: 'all', max: 3, windowSeconds: 600 }

let runtime: FakeRuntime
let store: Store
let written: string[]
beforeEach(() => {
  runtime = createFakeRuntime(start)
  const { countAttempt, ...rest } = openMemoryStore()
  written = []
  store = {
    ...rest,
    countAttempt(key, ...given) {
      written.push(key)
      return countAttempt(key, ...given)
    },
  }
})

const count = async (...limits: AttemptLimit[]): Promise<number> =>
  (await countWithin(limits, { store, runtime })).waitSeconds

it('countWithin returns the seconds until the window ends, and starts a new count then', async () => {
  expect([await count(mine), await count(mine)]).toEqual([0, 0])
  runtime.advance(59)
  expect(await count(mine)).toBe(1)
  runtime.advance(1)
  expect(await count(mine)).toBe(0)
})

it('countWithin does not count an attempt in later limits once one has refused it', async () => {
  for (let index = 0; index < 9; index += 1) await count(mine, all)
  expect(await count({ ...mine, key: 'other' }, all)).toBe(0)
  expect(await count({ ...mine, key: 'third' }, all)).toBe(600)
})

it('countWithin counts nothing in earlier limits while a later one is known to be full', async () => {
  for (let index = 0; index < 3; index += 1) await count(all)
  expect(await count(mine, all)).toBe(600)
  runtime.advance(600)
  expect([await count(mine, all), await count(mine, all)]).toEqual([0, 0])
})

it('countWithin does not write to a full limit, which is full for other instances, too', async () => {
  for (let index = 0; index < 9; index += 1) await count(mine)
  expect(written).toHaveLength(2)
  const instance = { ...store }
  expect(await countWithin([mine], { store: instance, runtime })).toMatchObject({ waitSeconds: 60 })
})

describe('attempts that are given back', () => {
  const refundable: AttemptLimit = { ...mine, refundable: true }

  it('attempts are given back to limits on guesses only, which admit attempts again', async () => {
    const results = [
      await countWithin([refundable, all], { store, runtime }),
      await countWithin([refundable, all], { store, runtime }),
    ]
    expect(await count(refundable)).toBe(60)
    for (const result of results) {
      expect(result.refundable).toEqual([{ key: 'mine', windowEndsAt: start + 60 }])
      await giveBack(result.refundable, { store })
    }
    expect([await count(refundable), await count(refundable), await count(refundable)]).toEqual([0, 0, 60])
    expect([await count(all), await count(all)]).toEqual([0, 600])
  })

  it('an attempt that is given back counts at other instances within seconds', async () => {
    const instance = { ...store }
    const elsewhere = async (): Promise<number> =>
      (await countWithin([refundable], { store: instance, runtime })).waitSeconds
    const first = await countWithin([refundable], { store, runtime })
    await count(refundable)
    expect(await elsewhere()).toBe(60)
    await giveBack(first.refundable, { store })
    expect(await elsewhere()).toBe(60)
    runtime.advance(5)
    expect(await elsewhere()).toBe(0)
  })

  it('refused attempts are not counted anywhere, not even in earlier limits', async () => {
    for (let index = 0; index < 3; index += 1) await count(all)
    // Another instance, which does not know yet that the window is full.
    const instance = { ...store }
    expect((await countWithin([mine, all], { store: instance, runtime })).waitSeconds).toBe(600)
    expect(await store.countAttempt('mine', 60, start)).toMatchObject({ count: 1 })
    expect(await store.countAttempt('all', 60, start)).toMatchObject({ count: 4 })
  })

  it('attempts at once never exceed the limit, and successful ones leave nothing behind', async () => {
    const results = await race(() => countWithin([refundable], { store, runtime }))
    const letIn = results.filter(({ waitSeconds }) => waitSeconds === 0)
    expect(letIn).toHaveLength(2)
    for (const { refundable: counted } of letIn) await giveBack(counted, { store })
    expect(await store.countAttempt('mine', 60, start)).toMatchObject({ count: 1 })
  })

  it('giving attempts back does not fail a sign-in while the store is unavailable', async () => {
    store.returnAttempt = () => Promise.reject(new StoreUnavailableError('down', { cause: undefined }))
    await expect(giveBack([{ key: 'mine', windowEndsAt: start + 60 }], { store })).resolves.toBeUndefined()
  })
})

const rule = {
  kind: 'thing',
  perAddress: { max: 4, windowSeconds: 60 },
  everyone: { max: 30, windowSeconds: 600 },
}
const maxima = (source: AttemptSource): number[] => limitsOf(rule, source).map((limit) => limit.max)

it.each<[who: string, source: AttemptSource, expected: number[]]>([
  ['an unknown visitor', { address: '192.0.2.1', known: false }, [4, 20, 30]],
  ['a known visitor, who may use the reserved third', { address: '192.0.2.1', known: true }, [4, 30]],
  ['a site, up to half of all', { address: '2001:db8::1', known: false }, [4, 15, 15, 20, 30]],
  ['a visitor without an address', { address: undefined, known: false }, [20, 30]],
])('limitsOf limits %s', (_who, source, expected) => {
  expect(maxima(source)).toEqual(expected)
})

it('limitKey distinguishes kinds and sources, and contains neither address nor network', () => {
  const key = limitKey('start', '2001:db8::/64')
  expect(limitKey('start', '2001:db8::/56')).not.toBe(key)
  expect(limitKey('other', '2001:db8::/64').split(' ')[1]).not.toBe(key.split(' ')[1])
  expect(key).toMatch(/^start [A-Za-z0-9_-]{43}$/)
})

describe('doOnce', () => {
  const once = <Result>(work: () => Promise<Result>, seconds = 60) =>
    doOnce('work', seconds, work, { store, runtime })

  it('doOnce does work for the first of many callers at the same time, and again when the time is over', async () => {
    let done = 0
    const work = async (): Promise<number> => (done += 1)
    const results = await Promise.all([once(work), once(work), once(work)])
    expect(results.filter((result) => result !== undefined)).toEqual([1])
    runtime.advance(59)
    expect(await once(work)).toBeUndefined()
    runtime.advance(1)
    expect(await once(work)).toBe(2)
  })

  it('doOnce rejects as the work does, which can then be done, also after a caller that came meanwhile', async () => {
    const started = createSignal<string>()
    const failing = once(async () => {
      throw new Error(await started.given)
    })
    expect(await once(async () => 'meanwhile')).toBeUndefined()
    started.give('away')
    await expect(failing).rejects.toThrow('away')
    expect(await once(async () => 'later')).toBe('later')
  })
})
