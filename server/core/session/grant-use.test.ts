import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import type { GrantUse } from './grant.ts'
import { createGrantUse, type GrantUses } from './grant-use.ts'

const start = 1_700_000_000
let runtime: FakeRuntime
let uses: GrantUses
/** What reached the store, one array a call. */
let written: (readonly GrantUse[])[]
let fail: () => void

beforeEach(() => {
  runtime = createFakeRuntime(start)
  written = []
  fail = () => {}
  uses = createGrantUse({
    store: {
      async recordGrantUses(batch) {
        fail()
        written.push(batch)
      },
    },
    runtime,
  })
})

describe('the use of a grant', () => {
  it('is written at the next flush when it is the first, with time and address', async () => {
    uses.note('g1', '192.0.2.1')
    runtime.advance(20)
    await uses.flush()
    expect(written).toEqual([[{ grantId: 'g1', usedAt: start, address: '192.0.2.1' }]])
  })

  it('is written once in ten minutes, then with the latest time and address', async () => {
    uses.note('g1', '192.0.2.1')
    await uses.flush()
    for (let minute = 1; minute < 10; minute += 1) {
      runtime.advance(60)
      uses.note('g1', '192.0.2.2')
      await uses.flush()
    }
    expect(written).toHaveLength(1)
    runtime.advance(60)
    await uses.flush()
    expect(written).toHaveLength(2)
    expect(written[1]).toEqual([{ grantId: 'g1', usedAt: start + 540, address: '192.0.2.2' }])
  })

  it('that ended is not written again, and is forgotten: a later one counts as the first', async () => {
    uses.note('g1', undefined)
    await uses.flush()
    runtime.advance(600)
    await uses.flush()
    expect(written).toHaveLength(1)
    uses.note('g1', undefined)
    await uses.flush()
    expect(written).toHaveLength(2)
  })

  it('noted while a flush runs is written by a later one', async () => {
    uses.note('g1', 'before')
    fail = () => {
      runtime.advance(1)
      uses.note('g1', 'meanwhile')
    }
    await uses.flush()
    fail = () => {}
    runtime.advance(600)
    await uses.flush()
    expect(written.flat().map(({ address }) => address)).toEqual(['before', 'meanwhile'])
  })
})

describe('a flush', () => {
  it('writes nothing when there is nothing', async () => {
    await uses.flush()
    expect(written).toEqual([])
  })

  it('writes at most 500 at once', async () => {
    for (let index = 0; index < 1201; index += 1) uses.note(`g${index}`, undefined)
    await uses.flush()
    expect(written.map((batch) => batch.length)).toEqual([500, 500, 201])
  })

  it('that fails rejects, and leaves what was not written for the next', async () => {
    for (let index = 0; index < 700; index += 1) uses.note(`g${index}`, undefined)
    fail = () => {
      if (written.length === 1) throw new Error('The store is down')
    }
    await expect(uses.flush()).rejects.toThrow('The store is down')
    fail = () => {}
    await uses.flush()
    expect(written.map((batch) => batch.length)).toEqual([500, 200])
    expect(new Set(written.flat().map(({ grantId }) => grantId)).size).toBe(700)
  })
})

describe('the memory for uses', () => {
  it('has an end: while the store is down the uses noted first are lost', async () => {
    for (let index = 0; index < 100_002; index += 1) uses.note(`g${index}`, undefined)
    await uses.flush()
    const ids = new Set(written.flat().map(({ grantId }) => grantId))
    expect(ids.size).toBe(100_000)
    expect([ids.has('g0'), ids.has('g1'), ids.has('g2'), ids.has('g100001')]).toEqual([
      false,
      false,
      true,
      true,
    ])
  })
})
