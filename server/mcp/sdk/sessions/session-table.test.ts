import { describe, expect, it } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../../../tests/support/server/fake-runtime.ts'
import { SessionTable } from './session-table.ts'

const limits = { total: 4, perUser: 2, idleSeconds: 1800 }

function createTable(): { table: SessionTable<string>; runtime: FakeRuntime; ended: string[] } {
  const runtime = createFakeRuntime(1_000_000)
  const ended: string[] = []
  const table = new SessionTable<string>(limits, runtime, (session) => void ended.push(session))
  return { table, runtime, ended }
}

/** Opens one session a second, named `user` and its number, as far as there is room. */
function open({ table, runtime }: ReturnType<typeof createTable>, userId: string, count: number): boolean[] {
  return Array.from({ length: count }, (_each, index) => {
    runtime.advance(1)
    const hasRoom = table.makeRoom(userId)
    if (hasRoom) table.add(`${userId}${index + 1}`, { userId, owner: userId }, `${userId}${index + 1}`)
    return hasRoom
  })
}

describe('the sessions of a process', () => {
  it('MCP security Session-Hijacking: are found by their owner alone (MCP security best practices, session hijacking)', () => {
    const { table } = createTable()
    table.add('id', { userId: 'ada', owner: 'ada 1' }, 'session')
    expect(table.find('id', 'ada 1')?.session).toBe('session')
    expect(table.find('id', 'ada 2')).toBeUndefined()
    expect(table.find('id', 'eve 1')).toBeUndefined()
    expect(table.find('other', 'ada 1')).toBeUndefined()
  })

  it('of one user are bounded: the one that was not used for longest ends', () => {
    const at = createTable()
    expect(open(at, 'ada', 2)).toEqual([true, true])
    at.runtime.advance(1)
    at.table.find('ada1', 'ada')
    expect(at.table.makeRoom('ada')).toBe(true)
    expect(at.ended).toEqual(['ada2'])
  })

  it('of one user never cost another user one while there is room', () => {
    const at = createTable()
    open(at, 'eve', 1)
    open(at, 'ada', 3)
    expect(at.ended).toEqual(['ada1'])
    expect(at.table.find('eve1', 'eve')).toBeDefined()
  })

  it('of all are bounded too', () => {
    const at = createTable()
    for (const user of ['a', 'b', 'c', 'd', 'e']) open(at, user, 1)
    expect(at.ended).toEqual(['a1'])
    expect(at.table.all()).toHaveLength(4)
  })

  it('with a call that runs never end for a newcomer', () => {
    const at = createTable()
    open(at, 'ada', 2)
    for (const entry of at.table.all()) entry.calls = 1
    expect(at.table.makeRoom('ada')).toBe(false)
    expect(at.table.makeRoom('eve')).toBe(true)
    expect(at.ended).toEqual([])
  })

  it('of all: the user with the most gives one up, with its call if need be, so that one user cannot lock the others out', () => {
    const at = createTable()
    open(at, 'ada', 1)
    open(at, 'bob', 1)
    open(at, 'eve', 2)
    for (const entry of at.table.all()) if (entry.userId === 'eve') entry.calls = 1
    expect(at.table.makeRoom('cy')).toBe(true)
    expect(at.ended).toEqual(['eve1'])
  })

  it('of all: a single session with a call stays', () => {
    const at = createTable()
    for (const user of ['a', 'b', 'c', 'd']) open(at, user, 1)
    for (const entry of at.table.all()) entry.calls = 1
    expect(at.table.makeRoom('e')).toBe(false)
    expect(at.ended).toEqual([])
  })

  it('that only wait for notifications end after unused ones', () => {
    const at = createTable()
    open(at, 'ada', 2)
    const [oldest] = at.table.all()
    if (oldest) oldest.listening = 1
    at.table.makeRoom('ada')
    expect(at.ended).toEqual(['ada2'])
    open(at, 'ada', 1)
    for (const entry of at.table.all()) entry.listening = 1
    expect(at.table.makeRoom('ada')).toBe(true)
  })

  it.each<[string, (table: SessionTable<string>) => void]>([
    ['the sweep', (table) => table.sweep()],
    ['another owner', (table) => expect(table.find('ada1', 'ada')).toBeUndefined()],
  ])('idle for half an hour are ended by %s', (_by, use) => {
    const at = createTable()
    open(at, 'ada', 1)
    at.runtime.advance(limits.idleSeconds - 1)
    at.table.sweep()
    expect(at.ended).toEqual([])
    at.runtime.advance(1)
    use(at.table)
    expect(at.ended).toEqual(['ada1'])
  })

  it('with an open answer are not idle', () => {
    const at = createTable()
    open(at, 'ada', 1)
    const [entry] = at.table.all()
    if (entry) entry.listening = 1
    at.runtime.advance(10 * limits.idleSeconds)
    at.table.sweep()
    expect(at.table.find('ada1', 'ada')).toBeDefined()
  })
})
