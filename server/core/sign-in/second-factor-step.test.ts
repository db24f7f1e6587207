import { beforeEach, describe, expect, it } from 'vitest'
import { race, start, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import {
  providerSample,
  secondFactorStep,
  signedIn,
  signInPortsSample,
  signInSample,
  visitorSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { hashSecret } from '../seal.ts'
import {
  afterFirstStep,
  cancelSecondFactor,
  type SecondFactorAttempt,
  type SecondFactorResult,
  trySecondFactor,
} from './second-factor-step.ts'
import { ProviderError, type ProviderFailure, type SessionProvider } from '../session/session-provider.ts'
import { createBrowserBinding } from './browser-seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

type Verification = Parameters<NonNullable<SessionProvider['verifySecondFactor']>>[0]

const visitor = visitorSample()
const { binding } = visitor
const otherBinding = createBrowserBinding((length) => new Uint8Array(length).fill(2))
const rightCode = '123456'

let ports: ReturnType<typeof signInPortsSample>
/** Calls that reached the provider. */
let asked: Verification[]
let failure: ProviderFailure | undefined

beforeEach(() => {
  asked = []
  failure = undefined
  ports = signInPortsSample(
    providerSample({
      async verifySecondFactor(input) {
        asked.push(input)
        if (failure) throw new ProviderError(failure, failure)
        if (input.code !== rightCode) throw new ProviderError('wrong_code', 'wrong')
        return signInSample('whole')
      },
    }),
  )
})

/** Starts a sign-in that waits for its second factor; returns its id. */
async function begin(factors = ['phone']): Promise<string> {
  const step = secondFactorStep(factors.map((id) => ({ id, label: `My ${id}` })))
  const first = await afterFirstStep(step, undefined, visitor, ports)
  if (first.kind !== 'second_factor') throw new Error('The first step was enough.')
  return first.prompt.id
}

function attempt(
  id: string,
  code: string,
  part: Partial<SecondFactorAttempt> = {},
  browser = binding,
): Promise<SecondFactorResult> {
  return trySecondFactor(
    { id, code, factorId: undefined, ...part },
    visitorSample({ binding: browser }),
    ports,
  )
}

async function attemptTimes(times: number, id: string, code: string): Promise<SecondFactorResult[]> {
  const results = []
  for (let time = 0; time < times; time += 1) results.push(await attempt(id, code))
  return results
}

/** Returns the ids of incomplete sessions waiting for sign-out. */
async function toSignOut(): Promise<string[]> {
  const now = ports.runtime.now()
  const due = await ports.store.claimSignOuts({ limit: 100, until: now }, now)
  return due.map(({ session }) => session.grantId)
}

describe('after the first step', () => {
  it('a sign-in continues at once without a second factor, and stores nothing', async () => {
    expect(await afterFirstStep(signedIn(), undefined, visitor, ports)).toEqual(signedIn())
    expect(await ports.store.listSealingKeys()).toEqual([])
  })

  it('a sign-in with a second factor waits ten minutes, sealed, for this browser', async () => {
    const id = await begin()
    const pending = await ports.store.attemptSecondFactor(
      { id, bindingHash: hashSecret(binding), max: 1 },
      start + 599,
    )
    expect(pending).toMatchObject({
      bindingHash: hashSecret(binding),
      expiresAt: start + 600,
      session: { grantId: id, version: 1, issuedAt: start, expiresAt: start + 3600 },
    })
    for (const secret of ['provider-access-token', 'provider-refresh-token', 'My phone', binding]) {
      expect(JSON.stringify(pending)).not.toContain(secret)
    }
  })
})

describe('the right code', () => {
  it('the right code of a second factor signs in with the session that replaces the half-way one, and nothing is left to sign out', async () => {
    const id = await begin()
    expect(await attempt(id, rightCode)).toEqual({
      kind: 'signed_in',
      signIn: signInSample('whole'),
      account: 'phone',
    })
    expect(asked).toEqual([{ session: signInSample('half-way').session, factorId: 'phone', code: rightCode }])
    expect(await toSignOut()).toEqual([])
  })

  it.each([' 12 34 56 ', '123\u00a0456'])('a code of a second factor may have blanks: %j', async (code) => {
    expect(await attempt(await begin(), code)).toMatchObject({ kind: 'signed_in' })
  })

  it('the right code of a second factor signs in once when posted ten times at once', async () => {
    const id = await begin()
    const results = await Promise.all(Array.from({ length: 10 }, () => attempt(id, rightCode)))
    expect(results.filter(({ kind }) => kind === 'signed_in')).toHaveLength(1)
    expect(results.filter(({ kind }) => kind === 'over')).toHaveLength(9)
    expect(await attempt(id, rightCode)).toEqual({ kind: 'over', reason: 'gone' })
    expect(await toSignOut()).toEqual([])
  })

  it.each([
    [599, 'signed_in'],
    [600, 'over'],
  ])('the right code of a second factor after %i s: %s', async (after, kind) => {
    const id = await begin()
    ports.runtime.advance(after)
    expect((await attempt(id, rightCode)).kind).toBe(kind)
  })

  it.each<[rule: string, factorId: string | undefined, used: string]>([
    ['the one that was chosen', 'tablet', 'tablet'],
    ['the first when none was', undefined, 'phone'],
    ['the first for one that is not theirs', 'of somebody else', 'phone'],
  ])('a code is checked for a second factor of the account: %s', async (_rule, factorId, used) => {
    const id = await begin(['phone', 'tablet'])
    await attempt(id, rightCode, { factorId })
    expect(asked.map((each) => each.factorId)).toEqual([used])
  })
})

describe('the owner of a pending second step', () => {
  it('a pending second step is not stored in the place of another', async () => {
    const [mine, other] = [await begin(), await begin(['tablet'])]
    const { store } = ports
    const swapped = {
      ...store,
      attemptSecondFactor: async (claim: { id: string; bindingHash: string; max: number }, now: number) => {
        const row = await store.attemptSecondFactor({ ...claim, id: other }, now)
        return row && { ...row, id: mine }
      },
    }
    ports = { ...ports, store: swapped }
    expect(await attempt(mine, rightCode)).toEqual({ kind: 'over', reason: 'gone' })
  })

  it('RFC 9700 4.7, RFC 9700 4.7.1: another browser cannot make the second step, and does not disturb it', async () => {
    const id = await begin()
    for (let time = 0; time < 20; time += 1) {
      expect(await attempt(id, rightCode, {}, otherBinding)).toEqual({ kind: 'over', reason: 'gone' })
    }
    expect(asked).toEqual([])
    expect(await attempt(id, rightCode)).toMatchObject({ kind: 'signed_in' })
  })
})

describe('a wrong code', () => {
  it('a wrong code of a second factor asks again, says how many are left, and keeps the factor', async () => {
    const id = await begin(['phone', 'tablet'])
    expect(await attempt(id, '000000', { factorId: 'tablet' })).toMatchObject({
      kind: 'again',
      failure: { failure: 'wrong_code' },
      codesLeft: 4,
      factorId: 'tablet',
      prompt: { id, factors: [{ id: 'phone' }, { id: 'tablet' }] },
    })
    expect(await attempt(id, rightCode)).toMatchObject({ kind: 'signed_in' })
  })

  it('OAuth 2.1 7.7: the fifth wrong code ends the sign-in, whose half-way session is to be signed out', async () => {
    const id = await begin()
    const results = await attemptTimes(5, id, '000000')
    expect(results.map((result) => (result.kind === 'again' ? result.codesLeft : result))).toEqual([
      4,
      3,
      2,
      1,
      { kind: 'over', reason: 'wrong_codes' },
    ])
    expect(await toSignOut()).toEqual([id])
    expect(await attempt(id, rightCode)).toEqual({ kind: 'over', reason: 'gone' })
  })

  it('a wrong code posted fifty times at once reaches the provider at most ten times, and the sign-in ends', async () => {
    const id = await begin()
    await race(() => attempt(id, '000000'))
    expect(asked.length).toBeLessThanOrEqual(10)
    expect(await attempt(id, rightCode)).toEqual({ kind: 'over', reason: 'gone' })
    expect(await toSignOut()).toEqual([id])
  })

  it.each(['12345', '1234567', '１２３４５６'])(
    '%j cannot be a code: it is not sent and not counted as wrong',
    async (code) => {
      const id = await begin()
      expect(await attempt(id, code)).toMatchObject({
        kind: 'again',
        failure: { failure: 'wrong_code' },
        codesLeft: undefined,
      })
      expect(asked).toEqual([])
      expect(await attempt(id, '000000')).toMatchObject({ codesLeft: 4 })
    },
  )
})

describe('when the code cannot be checked', () => {
  it.each<ProviderFailure>(['transient', 'rate_limited', 'protocol'])(
    'a code that cannot be checked (%s) does not end the sign-in in six tries',
    async (kind) => {
      const id = await begin()
      failure = kind
      for (const result of await attemptTimes(6, id, rightCode)) {
        expect(result).toMatchObject({ kind: 'again', failure: { failure: kind }, codesLeft: undefined })
      }
      failure = undefined
      expect(await attempt(id, rightCode)).toMatchObject({ kind: 'signed_in' })
    },
  )

  it('a second step ends after ten posts that could not be checked', async () => {
    const id = await begin()
    failure = 'transient'
    await attemptTimes(10, id, rightCode)
    failure = undefined
    expect(await attempt(id, rightCode)).toEqual({ kind: 'over', reason: 'gone' })
    expect(await toSignOut()).toEqual([id])
  })

  it('a second step sends nothing over the limit of sign-ins, and keeps the sign-in waiting', async () => {
    const id = await begin()
    ports = { ...ports, limitPerMinute: 0 }
    expect(await attempt(id, rightCode)).toMatchObject({
      kind: 'again',
      failure: { failure: 'rate_limited', retryAfterSeconds: 60 },
    })
    expect(asked).toEqual([])
    ports.runtime.advance(60)
    ports = { ...ports, limitPerMinute: 2 }
    expect(await attempt(id, rightCode)).toMatchObject({ kind: 'signed_in' })
  })

  it('a second step counts codes for the account of the password', async () => {
    const step = secondFactorStep()
    const begun = await Promise.all(
      Array.from({ length: 3 }, () => afterFirstStep(step, 'ada@example.com', visitor, ports)),
    )
    const results = []
    for (const first of begun) {
      const id = first.kind === 'second_factor' ? first.prompt.id : ''
      results.push(...(await attemptTimes(4, id, '000000')))
    }
    const limited = results.filter((each) => each.kind === 'again' && each.failure.failure === 'rate_limited')
    expect(asked).toHaveLength(10)
    expect(limited).toHaveLength(2)
  })

  it('a second step after a social sign-in counts codes for the factor', async () => {
    const begun = await Promise.all(Array.from({ length: 3 }, () => begin()))
    for (const id of begun) await attemptTimes(4, id, '000000')
    expect(asked).toHaveLength(10)
    const other = await begin(['tablet'])
    await attempt(other, '000000')
    expect(asked).toHaveLength(11)
  })

  it('a second step does not open for another browser, even if the store says so', async () => {
    const bindingHash = hashSecret(otherBinding)
    const add = ports.store.addSecondFactor
    ports = {
      ...ports,
      store: { ...ports.store, addSecondFactor: (pending) => add({ ...pending, bindingHash }) },
    }
    const id = await begin()
    expect(await attempt(id, rightCode, {}, otherBinding)).toEqual({ kind: 'over', reason: 'gone' })
    expect(asked).toEqual([])
  })

  it('a second step does not take a fault in the program for an answer', async () => {
    const id = await begin()
    ports.provider.verifySecondFactor = () => Promise.reject(new RangeError('a bug'))
    await expect(attempt(id, rightCode)).rejects.toThrow(RangeError)
  })

  it('a second step is not sent to another provider than the one of its first step', async () => {
    const id = await begin()
    ports = { ...ports, provider: { ...ports.provider, issuer: 'https://elsewhere' } }
    expect(await attempt(id, rightCode)).toEqual({ kind: 'over', reason: 'gone' })
    expect(asked).toEqual([])
  })
})

describe('when the half-way session cannot be used any more', () => {
  it.each<ProviderFailure>(['terminal', 'expired'])(
    'a half-way session that fails as %s ends the sign-in, and is to be signed out',
    async (kind) => {
      const id = await begin()
      failure = kind
      expect(await attempt(id, rightCode)).toMatchObject({
        kind: 'over',
        reason: 'refused',
        failure: { failure: kind },
      })
      expect(await toSignOut()).toEqual([id])
    },
  )

  it('a half-way session whose key has left the ring ends the sign-in', async () => {
    const id = await begin()
    ports = { ...ports, sealer: sealerSample('new') }
    expect(await attempt(id, rightCode)).toEqual({ kind: 'over', reason: 'gone' })
  })
})

it('cancelling a second step ends the sign-in, and its session is to be signed out, once', async () => {
  const id = await begin()
  await cancelSecondFactor(id, ports)
  await cancelSecondFactor(id, ports)
  expect(await toSignOut()).toEqual([id])
  expect(await attempt(id, rightCode)).toEqual({ kind: 'over', reason: 'gone' })
})

it.each<[what: string, ending: () => Promise<void>]>([
  ['is ended at the provider', async () => {}],
  ['is given up when that fails as well', () => Promise.reject(new ProviderError('transient', 'down'))],
])(
  'an incomplete session that cannot be stored is signed out: %s, and the step rejects with the error of the store',
  async (_what, ending) => {
    const out: unknown[] = []
    const step = secondFactorStep()
    const down = new StoreUnavailableError('down', { cause: undefined })
    const result = afterFirstStep(step, undefined, visitor, {
      ...ports,
      store: { ...ports.store, addSecondFactor: () => Promise.reject(down) },
      provider: {
        ...ports.provider,
        signOut(session) {
          out.push(session)
          return ending()
        },
      },
    })
    await expect(result).rejects.toBe(down)
    expect(out).toEqual([signInSample('half-way').session])
  },
)
