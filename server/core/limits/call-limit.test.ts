import { beforeEach, describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { CallLimit, type CallLimits, personCalling, strangerCalling } from './call-limit.ts'
import { bytesOfCall } from './limit-table.ts'

let runtime: FakeRuntime
let leave: (() => void)[]
beforeEach(() => {
  runtime = createFakeRuntime(1000)
  leave = []
})

type Enter = (userId?: string, count?: number, bytes?: number) => number | 'admitted'

function createFor(
  sourcesOf: (id: string) => Parameters<CallLimit['enter']>[0],
): (limits: Partial<CallLimits>) => Enter {
  return (limits) => {
    const limit = new CallLimit({ rate: undefined, atOnce: undefined, ...limits }, runtime)
    return (id = 'ada', count = 1, bytes = 100) => {
      const admission = limit.enter(sourcesOf(id), { messages: count, requests: count, bytes })
      if (admission.kind === 'refused') return admission.retryAfterSeconds
      leave.push(admission.leave)
      return 'admitted'
    }
  }
}

const create = createFor(personCalling)

it('calls are admitted up to the burst, and then at the rate', () => {
  const enter = create({ rate: { burst: 3, perSecond: 0.5 } })
  expect([enter(), enter(), enter(), enter()]).toEqual(['admitted', 'admitted', 'admitted', 2])
  runtime.advance(2)
  expect([enter(), enter()]).toEqual(['admitted', 2])
})

it('calls of a batch are admitted all or none within the rate', () => {
  const enter = create({ rate: { burst: 3, perSecond: 1 } })
  expect([enter('ada', 2), enter('ada', 2), enter('ada', 1)]).toEqual(['admitted', 2, 'admitted'])
})

it('a large message counts as a call for each 64 KB that it begins', () => {
  const enter = create({ rate: { burst: 4, perSecond: 1 } })
  expect([enter('ada', 1, 3 * bytesOfCall), enter('ada', 2), enter('ada')]).toEqual([
    'admitted',
    2,
    'admitted',
  ])
  expect([enter('eve', 1, 3 * bytesOfCall + 1), enter('eve')]).toEqual(['admitted', 1])
})

it('a message larger than a burst takes a whole burst', () => {
  const enter = create({ rate: { burst: 4, perSecond: 1 } })
  expect([enter('ada', 1, 9 * bytesOfCall), enter()]).toEqual(['admitted', 1])
  runtime.advance(3)
  expect(enter('ada', 1, 9 * bytesOfCall)).toBe(4)
  runtime.advance(1)
  expect(enter('ada', 1, 9 * bytesOfCall)).toBe('admitted')
})

describe('callers without a credential', () => {
  const stranger = createFor((address) => strangerCalling(address === '' ? undefined : address))
  const inSite = (link: number): string => `2001:db8:1:${link.toString(16)}::1`
  const everywhere = (index: number): string => `2001:db8:${index.toString(16)}::1`

  it.each<[who: string, address: (index: number) => string, admitted: number]>([
    ['an IPv4 address', () => '192.0.2.1', 10],
    ['a /64', (index) => `2001:db8:1:1::${index}`, 10],
    ['a /56', (index) => inSite(index % 256), 40],
    ['a /48', (index) => inSite(index * 61), 160],
    ['the unknown address', () => '', 160],
    ['all of them', everywhere, 320],
  ])('callers without a credential are limited together: %s', (_who, address, admitted) => {
    for (const limits of [{ rate: { burst: 10, perSecond: 0.001 } }, { atOnce: 10 }]) {
      const enter = stranger(limits)
      const results = Array.from({ length: 1000 }, (_each, index) => enter(address(index)))
      expect(results.filter((result) => result === 'admitted')).toHaveLength(admitted)
    }
  })

  it('refused callers without a credential take nothing from others', () => {
    const enter = stranger({ rate: { burst: 1, perSecond: 0.001 } })
    for (let index = 0; index < 1000; index += 1) enter('192.0.2.1')
    expect(enter('192.0.2.2')).toBe('admitted')
  })
})

it('concurrent calls are admitted up to the limit, and again when one is over', () => {
  const enter = create({ atOnce: 2 })
  expect([enter(), enter(), enter(), enter('eve')]).toEqual(['admitted', 'admitted', 1, 'admitted'])
  leave[0]?.()
  expect([enter(), enter()]).toEqual(['admitted', 1])
})

it('concurrent calls of a batch count one by one, and are admitted all or none', () => {
  const enter = create({ atOnce: 2 })
  expect([enter('ada', 3), enter('ada', 1), enter('ada', 2), enter('ada', 1)]).toEqual([
    1,
    'admitted',
    1,
    'admitted',
  ])
})

it('calls refused as concurrent do not count for the rate', () => {
  const enter = create({ atOnce: 1, rate: { burst: 2, perSecond: 1 } })
  expect([enter(), enter(), enter()]).toEqual(['admitted', 1, 1])
  leave[0]?.()
  expect(enter()).toBe('admitted')
})
