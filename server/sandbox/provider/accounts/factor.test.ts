import { describe, expect, it } from 'vitest'
import { Accounts } from './account.ts'
import { openDatabase, type Database } from '../database.ts'
import { Factors } from './factor.ts'
import { fakeRuntime, type NotedRuntime } from '../../../../tests/support/sandbox/provider-fixture.ts'
import { computeTotp } from './totp.ts'

function open(): { database: Database; factors: Factors; runtime: NotedRuntime; accountId: string } {
  const runtime = fakeRuntime()
  const database = openDatabase(':memory:')
  const { id } = new Accounts(database, runtime).create({ email: 'ada@example.com', confirmed: true })
  return { database, factors: new Factors(database, runtime), runtime, accountId: id }
}

describe('a factor', () => {
  it('starts unverified with a secret of 160 bits', () => {
    const { factors, accountId, runtime } = open()
    const factor = factors.enroll(accountId, 'phone')
    expect(factor).toEqual({
      id: expect.any(String),
      accountId,
      friendlyName: 'phone',
      status: 'unverified',
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      createdAt: runtime.now(),
      updatedAt: runtime.now(),
    })
    expect(factors.find(accountId, factor.id)).toEqual(factor)
  })

  it('belongs to one account', () => {
    const { factors, accountId } = open()
    const { id } = factors.enroll(accountId, 'phone')
    expect(() => factors.find('somebody-else', id)).toThrow('Factor not found')
    expect(() => factors.find(accountId, 'unknown')).toThrow('Factor not found')
  })

  it('needs a name of its own, and there are ten at most', () => {
    const { factors, accountId } = open()
    for (let index = 0; index < 10; index++) factors.enroll(accountId, `factor ${index}`)
    expect(() => factors.enroll(accountId, 'factor 3')).toThrow('"factor 3" for this user already exists')
    expect(() => factors.enroll(accountId, 'eleventh')).toThrow('Maximum number')
    factors.unenroll(factors.list(accountId)[0]!)
    expect(factors.enroll(accountId, 'eleventh').status).toBe('unverified')
  })

  it('when verified, replaces the enrollments that were left unfinished', () => {
    const { factors, accountId, runtime } = open()
    factors.enroll(accountId, 'abandoned')
    const factor = factors.enroll(accountId, 'phone')
    const { id } = factors.challenge(factor)
    factors.verify(factor, id, computeTotp(factor.secret, runtime.now()))
    expect(factors.list(accountId)).toMatchObject([{ friendlyName: 'phone', status: 'verified' }])
  })
})

describe('a challenge', () => {
  it.each([
    { later: 0, drift: 0, outcome: 'verified' },
    { later: 0, drift: -30, outcome: 'verified' },
    { later: 0, drift: -60, outcome: 'mfa_verification_failed' },
    { later: 299, drift: 0, outcome: 'verified' },
    { later: 300, drift: 0, outcome: 'mfa_challenge_expired' },
    { later: 599, drift: 0, outcome: 'mfa_challenge_expired' },
  ])('answered after $later s with the code of $drift s ago is $outcome', ({ later, drift, outcome }) => {
    const { factors, accountId, runtime } = open()
    const factor = factors.enroll(accountId, 'phone')
    const { id, expiresAt } = factors.challenge(factor)
    expect(expiresAt).toBe(runtime.now() + 300)
    runtime.advance(later)
    const answer = (): void => factors.verify(factor, id, computeTotp(factor.secret, runtime.now() + drift))
    if (outcome === 'verified') answer()
    else expect(answer).toThrow(expect.objectContaining({ code: outcome, status: 422 }))
    expect(factors.find(accountId, factor.id).status).toBe(outcome === 'verified' ? 'verified' : 'unverified')
  })

  it('is of one factor only', () => {
    const { factors, accountId, runtime } = open()
    const [one, two] = [factors.enroll(accountId, 'one'), factors.enroll(accountId, 'two')]
    const { id } = factors.challenge(one)
    const code = computeTotp(two.secret, runtime.now())
    expect(() => factors.verify(two, id, code)).toThrow(
      expect.objectContaining({ code: 'mfa_factor_not_found' }),
    )
  })

  it('is answered once', () => {
    const { factors, accountId, runtime } = open()
    const factor = factors.enroll(accountId, 'phone')
    const { id } = factors.challenge(factor)
    const code = computeTotp(factor.secret, runtime.now())
    factors.verify(factor, id, code)
    expect(() => factors.verify(factor, id, code)).toThrow(expect.objectContaining({ status: 422 }))
  })

  it('is forgotten some time after its end', () => {
    const { database, factors, accountId, runtime } = open()
    const factor = factors.enroll(accountId, 'phone')
    factors.challenge(factor)
    runtime.advance(601)
    factors.challenge(factor)
    expect(database.all('SELECT id FROM challenge')).toHaveLength(1)
  })

  it('goes with its factor', () => {
    const { database, factors, accountId } = open()
    const factor = factors.enroll(accountId, 'phone')
    factors.challenge(factor)
    factors.unenroll(factor)
    expect(database.all('SELECT id FROM challenge')).toEqual([])
  })
})
