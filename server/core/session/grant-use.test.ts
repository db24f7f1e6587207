import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import type { GrantUse } from './grant.ts'
import { GrantUses } from './grant-use.ts'

const start = 1_700_000_000
let runtime: FakeRuntime
let uses: GrantUses
/** Writes that reached the store, one array per call. */
let written: (readonly GrantUse[])[]
let fail: () => void

beforeEach(() => {
  runtime = createFakeRuntime(start)
  written = []
  fail = () => {}
  uses = new GrantUses({
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
  it('the first use of a grant is written at the next flush, with time and address', async () => {
    uses.recordUse('g1', '192.0.2.1')
    runtime.advance(20)
    await uses.flush()
    expect(written).toEqual([[{ grantId: 'g1', usedAt: start, address: '192.0.2.1' }]])
  })

  it('the use of a grant is written once in ten minutes, then with the latest time and address', async () => {
    uses.recordUse('g1', '192.0.2.1')
    await uses.flush()
    for (let minute = 1; minute < 10; minute += 1) {
      runtime.advance(60)
      uses.recordUse('g1', '192.0.2.2')
      await uses.flush()
    }
    expect(written).toHaveLength(1)
    runtime.advance(60)
    await uses.flush()
    expect(written).toHaveLength(2)
    expect(written[1]).toEqual([{ grantId: 'g1', usedAt: start + 540, address: '192.0.2.2' }])
  })

  it('the use of a grant that ended is not written again: a later use counts as the first', async () => {
    uses.recordUse('g1', undefined)
    await uses.flush()
    runtime.advance(600)
    await uses.flush()
    expect(written).toHaveLength(1)
    uses.recordUse('g1', undefined)
    await uses.flush()
    expect(written).toHaveLength(2)
  })

  it('the use of a grant that is noted during a flush is written by a later one', async () => {
    uses.recordUse('g1', 'before')
    fail = () => {
      runtime.advance(1)
      uses.recordUse('g1', 'meanwhile')
    }
    await uses.flush()
    fail = () => {}
    runtime.advance(600)
    await uses.flush()
    expect(written.flat().map(({ address }) => address)).toEqual(['before', 'meanwhile'])
  })
})

describe('the last tool', () => {
  const toolsWritten = (): unknown[] => written.flat().map(({ tool }) => tool)

  it('the last tool is written with the use; a use without one keeps it', async () => {
    uses.recordUse('g1', '192.0.2.1')
    uses.recordTool('g1', 'list_notes')
    uses.recordUse('g1', '192.0.2.1')
    await uses.flush()
    runtime.advance(600)
    uses.recordUse('g1', '192.0.2.1')
    await uses.flush()
    runtime.advance(600)
    uses.recordTool('g1', 'add_note')
    await uses.flush()
    expect(toolsWritten()).toEqual(['list_notes', 'list_notes', 'add_note'])
  })

  it('the last tool is cut to 200 characters', async () => {
    uses.recordUse('g1', '192.0.2.1')
    uses.recordTool('g1', 't'.repeat(201))
    await uses.flush()
    expect(toolsWritten()).toEqual(['t'.repeat(200)])
  })
})

describe('two addresses at once', () => {
  const home = '203.0.113.7'
  const office = '198.51.100.9'
  const inBlock = (host: string): string => `2001:db8:1:2::${host}`
  const places: Record<string, string> = {
    home,
    office,
    cafe: '192.0.2.50',
    mapped: `::ffff:${home}`,
    link1: inBlock('1'),
    link2: inBlock('2'),
  }

  /** Records uses of one grant, such as `0 home, 60 office`: each some seconds after the previous one. */
  async function twoAfter(all: string): Promise<GrantUse['twoAddresses']> {
    for (const use of all.split(', ')) {
      const [after, place = ''] = use.split(' ')
      runtime.advance(Number(after))
      uses.recordUse('g1', places[place])
    }
    await uses.flush()
    return written.at(-1)?.[0]?.twoAddresses
  }

  it.each<[what: string, all: string, at: number]>([
    ['one, the other, the first again', '0 home, 60 office, 60 home', 120],
    ['many of each before the first comes back', '0 home, 9 home, 9 office, 9 office, 9 home', 36],
    ['just within ten minutes', '0 home, 300 office, 299 home', 599],
    [
      'ten minutes count from the last use at the first, not the first',
      '0 home, 500 home, 50 office, 200 home',
      750,
    ],
    ['a use from an unknown address does not interrupt', '0 home, 9 ?, 9 office, 9 ?, 9 home', 36],
    ['another place in between', '0 home, 9 cafe, 9 office, 9 home', 27],
  ])('two addresses are recorded as in use at once: %s', async (_what, all, at) => {
    expect(await twoAfter(all)).toEqual({ addresses: [home, office], at: start + at })
  })

  it.each<[what: string, all: string]>([
    ['a laptop that moves once', '0 home, 9 home, 9 office, 9 office'],
    ['a laptop that moves from place to place', '0 home, 9 office, 9 cafe'],
    ['a laptop that comes back ten minutes later', '0 home, 300 office, 300 home'],
    ['two addresses of one IPv6 block', '0 link1, 9 link2, 9 link1, 9 link2'],
    ['an address in two spellings', '0 home, 9 mapped, 9 home'],
    ['one address and unknown ones', '0 home, 9 ?, 9 home'],
  ])('two addresses are not recorded as in use at once: %s', async (_what, all) => {
    expect(await twoAfter(all)).toBeUndefined()
  })

  it('two addresses at once, one in an IPv6 block: the latest address of the block is named', async () => {
    const found = await twoAfter('0 link1, 9 office, 9 link2')
    expect(found?.addresses).toEqual([inBlock('2'), office])
  })

  it('two addresses are recorded each time they alternate, and kept when they no longer do', async () => {
    const again = await twoAfter('0 home, 9 office, 9 home, 9 office')
    expect(again).toEqual({ addresses: [office, home], at: start + 27 })
    expect(await twoAfter('600 office')).toEqual(again)
  })

  it('two addresses are not found among more than four sources in turn', async () => {
    for (let use = 0; use < 10; use += 1) {
      runtime.advance(9)
      uses.recordUse('g1', `192.0.2.${use % 5}`)
    }
    await uses.flush()
    expect(written.at(-1)?.[0]?.twoAddresses).toBeUndefined()
  })
})

describe('a flush', () => {
  it('a flush writes at most 500 uses at once', async () => {
    for (let index = 0; index < 1201; index += 1) uses.recordUse(`g${index}`, undefined)
    await uses.flush()
    expect(written.map((batch) => batch.length)).toEqual([500, 500, 201])
  })

  it('a flush that fails rejects, and leaves unwritten uses for the next one', async () => {
    for (let index = 0; index < 700; index += 1) uses.recordUse(`g${index}`, undefined)
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

it('the memory for uses is bounded: while the store is down the oldest are lost', async () => {
  for (let index = 0; index < 100_002; index += 1) uses.recordUse(`g${index}`, undefined)
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
