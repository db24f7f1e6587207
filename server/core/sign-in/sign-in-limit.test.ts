import { describe, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { visitorSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import type { AttemptStore } from '../limits/attempt-limit.ts'
import { ProviderError, type ProviderFailure } from '../session/session-provider.ts'
import { rememberAccount } from './device-cookie.ts'
import {
  attemptAt,
  countSignInAttempt,
  judgeSignIn,
  type SignInAttempt,
  type SignInLimitPorts,
} from './sign-in-limit.ts'

interface Limited extends SignInLimitPorts {
  advance(seconds: number): void
  /** Keys counted in the store, in order. */
  counted: string[]
}

function ports(limitPerMinute = 20): Limited {
  const runtime = createFakeRuntime(start)
  const memory = openMemoryStore()
  const counted: string[] = []
  const store: AttemptStore = {
    countAttempt(key, windowSeconds, now) {
      counted.push(key)
      return memory.countAttempt(key, windowSeconds, now)
    },
    returnAttempt: (...call) => memory.returnAttempt(...call),
  }
  return { store, runtime, limitPerMinute, advance: runtime.advance, counted }
}

const nobody: SignInAttempt = { address: undefined, account: undefined, trusted: false }
const ada: SignInAttempt = { address: '203.0.113.1', account: 'ada@example.com', trusted: false }

type Outcome = 'through' | 'refused'

const tried = (attempt: SignInAttempt, limited: SignInLimitPorts): Promise<Outcome> =>
  countSignInAttempt(attempt, limited).then(
    () => 'through',
    () => 'refused',
  )

/** Counts how many of `times` sequential attempts succeed. */
async function through(
  times: number,
  attempt: (index: number) => SignInAttempt,
  limited: SignInLimitPorts,
): Promise<number> {
  let count = 0
  for (let index = 0; index < times; index += 1) {
    if ((await tried(attempt(index), limited)) === 'through') count += 1
  }
  return count
}

it('sign-in limits reserve a third of the total for browsers that have signed in before, which may use all of it', async () => {
  const limited = ports(30)
  expect(await through(50, (index) => ({ ...nobody, address: `203.0.113.${index}` }), limited)).toBe(20)
  const known = (index: number): SignInAttempt => ({
    ...nobody,
    address: `203.0.114.${index}`,
    trusted: true,
  })
  expect(await through(50, known, limited)).toBe(10)
  limited.advance(60)
  expect(await through(50, known, limited)).toBe(30)
})

describe('countSignInAttempt for one address', () => {
  const stranger = (index: number): SignInAttempt => ({ ...ada, account: `person-${index}@example.com` })

  it('one address may use half of all sign-in attempts, so that one source cannot lock others out', async () => {
    const limited = ports(20)
    expect(await through(100, stranger, limited)).toBe(10)
    expect(await through(10, (index) => ({ ...stranger(index), address: '203.0.113.2' }), limited)).toBe(4)
  })

  it.each<[limitPerMinute: number, most: number]>([
    [1, 1],
    [20, 10],
    [1000, 500],
  ])('one address may make, of a total of %i attempts, %i', async (limitPerMinute, most) => {
    expect(await through(limitPerMinute, stranger, ports(limitPerMinute))).toBe(most)
  })

  it('one address may make sixty sign-in attempts an hour, even if the minutes allow more', async () => {
    const limited = ports(20)
    let count = 0
    for (let passed = 0; passed < 60; passed += 1) {
      count += await through(10, (index) => stranger(passed * 10 + index), limited)
      limited.advance(60)
    }
    expect(count).toBe(60)
    expect(await through(1, stranger, limited)).toBe(1)
  })

  it('a site may make four times as many sign-in attempts an hour as an address', async () => {
    const limited = ports(20)
    let count = 0
    for (let passed = 0; passed < 60; passed += 1) {
      const at = (index: number): string => `2001:db8:1:${(passed * 20 + index).toString(16)}::1`
      count += await through(
        20,
        (index) => ({ ...stranger(passed * 20 + index), address: at(index) }),
        limited,
      )
      limited.advance(60)
    }
    expect(count).toBe(240)
  })

  it('a sign-in refused for its address is not counted for the account or the total', async () => {
    const limited = ports(20)
    await through(10, stranger, limited)
    limited.counted.length = 0
    // The account is known to be over its limit: the store is not even asked.
    await tried(ada, limited)
    expect(limited.counted).toEqual([])
  })
})

describe('OAuth 2.1 7.7: countSignInAttempt for one account (NIST SP 800-63B section 3.2.2)', () => {
  const from =
    (more: Partial<SignInAttempt> = {}) =>
    (index: number): SignInAttempt => ({ ...ada, address: `203.0.113.${index}`, ...more })

  it('one account is limited to ten sign-in attempts in fifteen minutes over all addresses', async () => {
    const limited = ports(1000)
    expect(await through(50, from(), limited)).toBe(10)
    limited.advance(899)
    expect(await through(1, from(), limited)).toBe(0)
    limited.advance(1)
    expect(await through(50, from(), limited)).toBe(10)
  })

  it('one account is limited to ten sign-in attempts without an address, too', async () => {
    expect(await through(50, from({ address: undefined }), ports(1000))).toBe(10)
  })

  it('sign-in limits one address to 5 attempts at one account, leaving room for others', async () => {
    const limited = ports(1000)
    expect(await through(50, () => ada, limited)).toBe(5)
    const inSite = (index: number): SignInAttempt => ({ ...ada, address: `2001:db8:1:${index}::1` })
    const other = ports(1000)
    expect(await through(50, inSite, other)).toBe(5)
    expect(await tried(from()(2), limited)).toBe('through')
  })

  it("sign-in does not count other browsers' attempts for a browser that has signed in before", async () => {
    const limited = ports(1000)
    await through(50, from(), limited)
    expect(await through(50, from({ trusted: true }), limited)).toBe(10)
    limited.advance(900)
    expect(await tried(from({ trusted: true })(1), limited)).toBe('through')
  })

  it('sign-in limits store neither account nor address', async () => {
    const limited = ports()
    await tried(ada, limited)
    await tried({ ...ada, trusted: true }, limited)
    expect(limited.counted).toHaveLength(10)
    expect(limited.counted.join()).not.toMatch(/ada|example|203/)
  })
})

describe('judgeSignIn', () => {
  const fail = (failure: ProviderFailure) => async (): Promise<never> => {
    throw new ProviderError(failure, failure)
  }
  /** Counts how many of 30 attempts at one account are allowed when each ends with `work`. */
  async function letIn(work: () => Promise<unknown>, attempt = ada): Promise<number> {
    const limited = ports(1000)
    let count = 0
    for (let index = 0; index < 30; index += 1) {
      const counted = await countSignInAttempt(attempt, limited).catch(() => undefined)
      if (counted === undefined) continue
      count += 1
      await judgeSignIn(counted, work, limited).catch((error: unknown) => {
        if (!(error instanceof ProviderError)) throw error
      })
    }
    return count
  }

  it.each<[what: string, work: () => Promise<unknown>]>([
    ['a sign-in that succeeds', async () => 'signed in'],
    ['an outage of the provider', fail('transient')],
    ['a rate limit of the provider', fail('rate_limited')],
  ])('judgeSignIn gives %s back, as it is not a guess', async (_what, work) => {
    expect(await letIn(work)).toBe(30)
    expect(await letIn(work, { ...ada, trusted: true })).toBe(30)
  })

  it.each<ProviderFailure>(['invalid_credentials', 'wrong_code', 'protocol'])(
    'judgeSignIn counts %s',
    async (failure) => {
      expect(await letIn(fail(failure))).toBe(5)
      expect(await letIn(fail(failure), { ...ada, trusted: true })).toBe(10)
    },
  )

  it('judgeSignIn counts a failure of our own', async () => {
    const limited = ports(1000)
    const counted = await countSignInAttempt(ada, limited)
    await expect(judgeSignIn(counted, () => Promise.reject(new TypeError('fault')), limited)).rejects.toThrow(
      TypeError,
    )
    expect(await through(50, () => ada, limited)).toBe(4)
  })
})

it('sign-in limits do not fill the store with made-up accounts once the total is reached', async () => {
  const limited = ports(20)
  await through(1000, (index) => ({ ...nobody, account: `person-${index}@example.com` }), limited)
  expect(limited.counted.length).toBeLessThanOrEqual(42)
})

it('sign-in limits know a browser that has signed in before, even while the account is unknown', () => {
  const known = rememberAccount([], 'ada@example.com', 'issuer', createFakeRuntime())
  const trusted = [known, []].map(
    (knownAccounts) => attemptAt(undefined, visitorSample({ knownAccounts }), 'issuer').trusted,
  )
  expect(trusted).toEqual([true, false])
})
