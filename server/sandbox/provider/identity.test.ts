import { describe, expect, it } from 'vitest'
import { Accounts } from './account.ts'
import { openDatabase } from './database.ts'
import { Identities } from './identity.ts'
import { fakeRuntime, type NotedRuntime } from '../../../tests/support/sandbox/provider-fixture.ts'

const GRACE = { provider: 'google', subject: '42', email: 'grace@google.example', name: 'Grace Example' }

function open(): { accounts: Accounts; identities: Identities; runtime: NotedRuntime } {
  const runtime = fakeRuntime()
  const database = openDatabase(':memory:')
  const accounts = new Accounts(database, runtime)
  return { accounts, identities: new Identities(database, accounts, runtime), runtime }
}

describe('a social profile', () => {
  it('makes a confirmed account the first time', () => {
    const { identities, runtime } = open()
    const account = identities.signIn(GRACE)
    expect(account).toMatchObject({
      email: 'grace@google.example',
      passwordHash: undefined,
      confirmedAt: runtime.now(),
      metadata: { full_name: 'Grace Example', sub: '42' },
    })
    expect(identities.list(account.id)).toMatchObject([
      { provider: 'google', providerId: '42', accountId: account.id },
    ])
  })

  it('finds its account by subject, even under a new address', () => {
    const { identities, runtime } = open()
    const first = identities.signIn(GRACE)
    runtime.advance(60)
    const second = identities.signIn({ ...GRACE, email: 'hopper@google.example', name: 'Grace Hopper' })
    expect(second.id).toBe(first.id)
    expect(second.email).toBe('grace@google.example')
    expect(second.metadata['full_name']).toBe('Grace Hopper')
    expect(identities.list(first.id)).toMatchObject([
      {
        lastSignInAt: runtime.now(),
        createdAt: runtime.now() - 60,
        data: { email: 'hopper@google.example' },
      },
    ])
  })

  it('is not found by the subject of another provider', () => {
    const { identities } = open()
    const first = identities.signIn(GRACE)
    const second = identities.signIn({ ...GRACE, provider: 'github', email: 'other@example.com' })
    expect(second.id).not.toBe(first.id)
  })

  it('joins the account that has its address, and keeps its password when that was confirmed', () => {
    const { accounts, identities } = open()
    const account = accounts.create({ email: GRACE.email, passwordHash: 'hash', confirmed: true })
    identities.addEmail(account)
    expect(identities.signIn(GRACE)).toMatchObject({ id: account.id, passwordHash: 'hash' })
    expect(identities.list(account.id).map(({ provider }) => provider)).toEqual(['email', 'google'])
  })

  it('removes the password of an account that nobody confirmed', () => {
    const { accounts, identities, runtime } = open()
    const account = accounts.create({ email: GRACE.email, passwordHash: 'planted', confirmed: false })
    identities.addEmail(account)
    expect(identities.signIn(GRACE)).toMatchObject({
      id: account.id,
      passwordHash: undefined,
      confirmedAt: runtime.now(),
    })
    expect(identities.list(account.id).map(({ provider }) => provider)).toEqual(['google'])
  })

  it('of a banned account changes nothing', () => {
    const { accounts, identities, runtime } = open()
    const account = accounts.create({ email: GRACE.email, passwordHash: 'hash', confirmed: false })
    accounts.ban(account.id, runtime.now() + 60)
    expect(() => identities.signIn(GRACE)).toThrow('banned')
    expect(accounts.findById(account.id)).toMatchObject({ passwordHash: 'hash', confirmedAt: undefined })
    expect(identities.list(account.id)).toEqual([])
  })
})

it('an address identity says whether it is confirmed', () => {
  const { accounts, identities } = open()
  const account = accounts.create({ email: 'ada@example.com', confirmed: false })
  identities.addEmail(account)
  expect(identities.list(account.id)).toMatchObject([
    { provider: 'email', providerId: account.id, data: { email: 'ada@example.com', email_verified: false } },
  ])
})
