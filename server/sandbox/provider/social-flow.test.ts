import { describe, expect, it } from 'vitest'
import { Accounts } from './account.ts'
import { openDatabase, type Database } from './database.ts'
import { fakeRuntime, type NotedRuntime } from '../../../tests/support/sandbox/provider-fixture.ts'
import { SocialFlows } from './social-flow.ts'

const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
// RFC 7636 appendix B.
const FLOW = {
  provider: 'google',
  redirectTo: 'http://localhost:8787/cb',
  codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
}

function open(): { database: Database; flows: SocialFlows; runtime: NotedRuntime; accountId: string } {
  const runtime = fakeRuntime()
  const database = openDatabase(':memory:')
  const { id } = new Accounts(database, runtime).create({ email: 'ada@example.com', confirmed: true })
  return { database, flows: new SocialFlows(database, runtime), runtime, accountId: id }
}

describe('a flow', () => {
  it('leads from start to the account', async () => {
    const { flows, accountId } = open()
    const state = flows.start(FLOW)
    expect(flows.find(state)).toEqual({
      state,
      provider: 'google',
      redirectTo: FLOW.redirectTo,
      expired: false,
    })
    const code = flows.complete(state, accountId)
    expect(await flows.redeem(code, VERIFIER)).toBe(accountId)
  })

  it('has another state and code each time', () => {
    const { flows, accountId } = open()
    const states = Array.from({ length: 20 }, () => flows.start(FLOW))
    const codes = states.map((state) => flows.complete(state, accountId))
    expect(new Set([...states, ...codes]).size).toBe(40)
  })

  it('is completed once: a state that was used is not known any more', () => {
    const { flows, accountId } = open()
    const state = flows.start(FLOW)
    flows.complete(state, accountId)
    expect(flows.find(state)).toBeUndefined()
    expect(() => flows.complete(state, accountId)).toThrow('OAuth state is invalid')
  })

  it('that was abandoned is not known any more', () => {
    const { flows, accountId } = open()
    const state = flows.start(FLOW)
    flows.abandon(state)
    expect(flows.find(state)).toBeUndefined()
    expect(() => flows.complete(state, accountId)).toThrow('OAuth state is invalid')
  })

  it.each([
    { seconds: 299, expired: false },
    { seconds: 300, expired: true },
  ])('after $seconds seconds is expired: $expired', async ({ seconds, expired }) => {
    const { flows, runtime, accountId } = open()
    const [waiting, completed] = [flows.start(FLOW), flows.start(FLOW)]
    const code = flows.complete(completed, accountId)
    runtime.advance(seconds)
    expect(flows.find(waiting)?.expired).toBe(expired)
    if (expired)
      await expect(flows.redeem(code, VERIFIER)).rejects.toMatchObject({ code: 'flow_state_expired' })
    else expect(await flows.redeem(code, VERIFIER)).toBe(accountId)
  })

  it('is forgotten an hour later, when another starts', () => {
    const { database, flows, runtime } = open()
    const old = flows.start(FLOW)
    runtime.advance(3601)
    flows.start(FLOW)
    expect(flows.find(old)).toBeUndefined()
    expect(database.all('SELECT state FROM flow')).toHaveLength(1)
  })

  it('does not keep its code where it can be read', () => {
    const { database, flows, accountId } = open()
    const code = flows.complete(flows.start(FLOW), accountId)
    expect(JSON.stringify(database.all('SELECT * FROM flow'))).not.toContain(code)
  })
})

describe('a code', () => {
  it.each(['', VERIFIER.slice(0, -1), `${VERIFIER}x`, VERIFIER.toLowerCase(), FLOW.codeChallenge])(
    'with verifier %j is refused and stays good',
    async (verifier) => {
      const { flows, accountId } = open()
      const code = flows.complete(flows.start(FLOW), accountId)
      await expect(flows.redeem(code, verifier)).rejects.toMatchObject({
        code: 'bad_code_verifier',
        status: 400,
      })
      expect(await flows.redeem(code, VERIFIER)).toBe(accountId)
    },
  )

  it('exchanged by two at once is given to one', async () => {
    const { flows, accountId } = open()
    const code = flows.complete(flows.start(FLOW), accountId)
    const outcomes = await Promise.allSettled([flows.redeem(code, VERIFIER), flows.redeem(code, VERIFIER)])
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    await expect(flows.redeem(code, VERIFIER)).rejects.toMatchObject({
      code: 'flow_state_not_found',
      status: 404,
    })
  })

  it('is not its state', async () => {
    const { flows, accountId } = open()
    const state = flows.start(FLOW)
    await expect(flows.redeem(state, VERIFIER)).rejects.toMatchObject({ code: 'flow_state_not_found' })
    flows.complete(state, accountId)
    await expect(flows.redeem(state, VERIFIER)).rejects.toMatchObject({ code: 'flow_state_not_found' })
  })
})
