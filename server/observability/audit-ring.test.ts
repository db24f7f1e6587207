import { expect, it } from 'vitest'
import { AuditRing } from './audit-ring.ts'

const startedAt = 1_800_000_000
const first = startedAt * 1_000_000

function ringOf(count: number, capacity = 5): AuditRing {
  const ring = new AuditRing(startedAt, capacity)
  for (let index = 0; index < count; index += 1) ring.write(`{"event":"e${index}"}\n`)
  return ring
}

const namesOf = (ring: AuditRing, sequence: number, limit = 100): string[] =>
  ring.since(sequence, limit).events.map(({ event }) => event)

it('an audit ring is empty at first, and its next is valid for later events', () => {
  const ring = ringOf(0)
  const { events, next } = ring.since(0, 10)
  expect([events, next]).toEqual([[], first - 1])
  ring.write('{"event":"a"}\n')
  expect(ring.since(next, 10)).toEqual({ events: [{ sequence: first, event: 'a' }], next: first })
  expect(ring.since(first, 10)).toEqual({ events: [], next: first })
})

it('an audit ring is read page by page, each event once', () => {
  const ring = ringOf(5)
  const seen: string[] = []
  for (let next = 0; ;) {
    const page = ring.since(next, 2)
    if (page.events.length === 0) break
    seen.push(...page.events.map(({ event }) => event))
    next = page.next
  }
  expect(seen).toEqual(['e0', 'e1', 'e2', 'e3', 'e4'])
})

it('an audit ring keeps the last events; a gap in the sequence shows lost ones', () => {
  const ring = ringOf(12)
  expect(namesOf(ring, 0)).toEqual(['e7', 'e8', 'e9', 'e10', 'e11'])
  expect(namesOf(ring, first + 2, 2)).toEqual(['e7', 'e8'])
  expect(namesOf(ring, first + 9)).toEqual(['e10', 'e11'])
  expect(ring.since(first + 2, 1).events[0]?.sequence).toBe(first + 7)
})

it('an audit ring of a later process begins above that of an earlier one', () => {
  const { next } = ringOf(5).since(0, 100)
  expect(new AuditRing(startedAt + 1).since(next, 1).next).toBeGreaterThan(next)
})

it('an audit ring takes a sequence that it has not reached as 0', () => {
  expect(namesOf(ringOf(2), first + 2)).toEqual(['e0', 'e1'])
  expect(namesOf(ringOf(2), Number.MAX_SAFE_INTEGER)).toEqual(['e0', 'e1'])
})
