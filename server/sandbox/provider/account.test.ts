import { describe, expect, it } from 'vitest'
import { Accounts, normalizeEmail } from './account.ts'
import { openDatabase } from './database.ts'
import { fakeRuntime, type NotedRuntime } from '../../../tests/support/sandbox/provider-fixture.ts'

function open(): { accounts: Accounts; runtime: NotedRuntime } {
  const runtime = fakeRuntime()
  return { accounts: new Accounts(openDatabase(':memory:'), runtime), runtime }
}

describe('an address', () => {
  it.each([
    ['ada@example.com', 'ada@example.com'],
    [' Ada@Example.COM ', 'ada@example.com'],
    ['ada+notes@sub.example.com', 'ada+notes@sub.example.com'],
    ['ada@localhost', 'ada@localhost'],
    ['ädä@bücher.example', 'ädä@bücher.example'],
  ])('%j is kept as %j', (email, kept) => {
    expect(normalizeEmail(email)).toBe(kept)
  })

  it.each([
    '',
    'ada',
    '@example.com',
    'ada@',
    'a b@example.com',
    'a@b@c',
    'a@b..c',
    'a@.b',
    'a@b.',
    `${'a'.repeat(251)}@b.cc`,
  ])('%j is refused', (email) => {
    expect(() => normalizeEmail(email)).toThrow('invalid format')
  })
})

describe('an account', () => {
  it('starts with what it is given', () => {
    const { accounts, runtime } = open()
    const account = accounts.create({
      email: 'Ada@Example.com',
      passwordHash: 'hash',
      confirmed: true,
      metadata: { nickname: 'ada', nested: { deep: [1, null] } },
    })
    expect(account).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      email: 'ada@example.com',
      passwordHash: 'hash',
      confirmedAt: runtime.now(),
      bannedUntil: undefined,
      metadata: { nickname: 'ada', nested: { deep: [1, null] } },
      lastSignInAt: undefined,
      createdAt: runtime.now(),
      updatedAt: runtime.now(),
    })
    expect(accounts.findById(account.id)).toEqual(account)
    expect(accounts.findByEmail('ADA@example.com')).toEqual(account)
    expect(accounts.findByEmail(' ada@example.com')).toBeUndefined()
  })

  it('needs an address of its own', () => {
    const { accounts } = open()
    accounts.create({ email: 'ada@example.com', confirmed: false })
    expect(() => accounts.create({ email: 'ADA@example.com', confirmed: true })).toThrow('already registered')
  })

  it('that does not exist is undefined', () => {
    const { accounts } = open()
    expect(accounts.findById('nobody')).toBeUndefined()
    expect(accounts.findByEmail("' OR 1=1 --")).toBeUndefined()
  })

  it('is banned until the end of its ban', () => {
    const { accounts, runtime } = open()
    const { id } = accounts.create({ email: 'ada@example.com', confirmed: true })
    const isBanned = (): boolean => accounts.isBanned(accounts.findById(id)!)
    expect(isBanned()).toBe(false)
    accounts.ban(id, runtime.now() + 10)
    expect(isBanned()).toBe(true)
    runtime.advance(9)
    expect(isBanned()).toBe(true)
    runtime.advance(1)
    expect(isBanned()).toBe(false)
    accounts.ban(id, runtime.now() + 10)
    accounts.ban(id, undefined)
    expect(isBanned()).toBe(false)
  })

  it('merges metadata, where null removes', () => {
    const { accounts } = open()
    const { id } = accounts.create({ email: 'ada@example.com', confirmed: true, metadata: { a: 1, b: 2 } })
    accounts.mergeMetadata(id, { b: 3, c: { d: null } })
    expect(accounts.findById(id)?.metadata).toEqual({ a: 1, b: 3, c: { d: null } })
    accounts.mergeMetadata(id, { a: null, unknown: null })
    expect(accounts.findById(id)?.metadata).toEqual({ b: 3, c: { d: null } })
  })

  it.each([
    {
      change: 'confirm',
      act: (accounts: Accounts, id: string) => accounts.confirm(id),
      field: 'confirmedAt',
    },
    {
      change: 'recordSignIn',
      act: (accounts: Accounts, id: string) => accounts.recordSignIn(id),
      field: 'lastSignInAt',
    },
  ] as const)('notes the time of $change', ({ act, field }) => {
    const { accounts, runtime } = open()
    const { id } = accounts.create({ email: 'ada@example.com', confirmed: false })
    runtime.advance(60)
    act(accounts, id)
    expect(accounts.findById(id)).toMatchObject({ [field]: runtime.now(), updatedAt: runtime.now() })
  })

  it('is gone when deleted', () => {
    const { accounts } = open()
    const { id } = accounts.create({ email: 'ada@example.com', confirmed: true })
    accounts.delete(id)
    expect(accounts.findById(id)).toBeUndefined()
    expect(accounts.create({ email: 'ada@example.com', confirmed: true }).id).not.toBe(id)
  })
})
