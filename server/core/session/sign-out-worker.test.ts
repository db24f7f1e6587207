import { beforeEach, describe, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import {
  createKeeperFixture,
  grantId,
  type KeeperFixture,
  sampleKey,
  storeIsDown,
} from '../../../tests/support/server/core/keeper-fixture.ts'
import { failing, lostReply, providerIssuer } from '../../../tests/support/server/core/rotating-provider.ts'
import { type PendingSignOut, SignOutWorker, type SignOutWorkerPorts } from './sign-out-worker.ts'
import { createSealer, fixedKeyRing } from '../seal.ts'
import { ProviderError, type ProviderFailure } from './session-provider.ts'

const hour = 3600
const day = 86_400

let fx: KeeperFixture
let worker: SignOutWorker
let reports: [event: string, grantId: string][]

beforeEach(() => {
  fx = createKeeperFixture()
  reports = []
  worker = workerWith({})
})

/** Creates a worker; `signOut` answers for the provider. */
function workerWith({
  signOut,
  ...overrides
}: Partial<SignOutWorkerPorts> & { signOut?: () => Promise<void> }): SignOutWorker {
  return new SignOutWorker({
    store: fx.store,
    provider: { ...fx.provider, ...(signOut && { signOut }) },
    providerIssuer,
    sealer: fx.sealer,
    runtime: fx.runtime,
    report: (event, id) => void reports.push([event, id]),
    ...overrides,
  })
}

/** Creates a grant that ends now, so that its session is due for sign-out. */
async function end(id = grantId): Promise<void> {
  await fx.connect(id)
  await fx.store.endGrant(id, 'code_reuse', fx.runtime.now())
}

/** Returns what waits for its sign-out, now or later. */
const waiting = (): Promise<PendingSignOut[]> => peek(fx.runtime.now() + 30 * day)

/** Returns the sign-outs due at `now` without completing them; counts as an attempt. */
function peek(now: number): Promise<PendingSignOut[]> {
  return fx.store.claimSignOuts({ limit: 100, until: now }, now)
}

describe('a round', () => {
  it('a round of sign-outs signs out due sessions and removes them', async () => {
    await end()
    expect(await worker.run()).toBe(1)
    expect(fx.provider.active()).toBeUndefined()
    expect(fx.provider.presented).toEqual([])
    expect(reports).toEqual([['provider_signed_out', grantId]])
    expect(await waiting()).toEqual([])
    expect(await worker.run()).toBe(0)
  })

  it('a round of sign-outs takes twenty at a time, four of them at once', async () => {
    for (let grant = 0; grant < 25; grant += 1) await end(`grant ${grant}`)
    let running = 0
    let most = 0
    const busy = workerWith({
      async signOut() {
        running += 1
        most = Math.max(most, running)
        await fx.runtime.sleep(10)
        running -= 1
      },
    })
    expect(await busy.run()).toBe(20)
    expect(most).toBe(4)
    expect(await busy.run()).toBe(5)
    expect(reports).toHaveLength(25)
    expect(new Set(reports.map(([, id]) => id)).size).toBe(25)
  })

  it('a round of sign-outs starts nothing that could outlast its claim, and leaves the rest for a later round', async () => {
    for (let grant = 0; grant < 20; grant += 1) await end(`grant ${grant}`)
    const slow = workerWith({ signOut: () => fx.runtime.sleep(12_000) })
    expect(await slow.run()).toBe(20)
    expect(reports.length).toBeGreaterThanOrEqual(4)
    expect(reports.length).toBeLessThan(20)
    expect(fx.runtime.now() - start).toBeLessThanOrEqual(60)
    fx.runtime.advance(60)
    const done = reports.length
    expect(await slow.run()).toBe(20 - done)
  })
})

describe('an access token', () => {
  beforeEach(() => end())

  it('a sign-out refreshes an expired access token first, and stores the new session before its use', async () => {
    fx.runtime.advance(hour)
    fx.provider.playSignOut({
      async before() {
        expect(await peek(fx.runtime.now() + 60)).toMatchObject([{ session: { version: 2 } }])
      },
    })
    await worker.run()
    expect(fx.provider.presented).toEqual(['refresh 1'])
    expect(fx.provider.active()).toBeUndefined()
    expect(reports).toEqual([['provider_signed_out', grantId]])
    expect.assertions(4)
  })

  it('a sign-out refreshes an access token once that the provider refuses before its time', async () => {
    fx.provider.playSignOut(failing('invalid_token'))
    await worker.run()
    expect(fx.provider.presented).toEqual(['refresh 1'])
    expect(reports).toEqual([['provider_signed_out', grantId]])
  })

  it('a sign-out whose access token is refused again after its refresh waits for another round, with the newest session', async () => {
    fx.provider.playSignOut(failing('invalid_token'), failing('invalid_token'))
    await worker.run()
    expect(fx.provider.presented).toEqual(['refresh 1'])
    expect(reports).toEqual([['provider_sign_out_failed', grantId]])
    fx.runtime.advance(20)
    await worker.run()
    expect(fx.provider.presented).toEqual(['refresh 1'])
    expect(fx.provider.active()).toBeUndefined()
  })

  it('a sign-out whose refresh got lost refreshes again in another round', async () => {
    fx.runtime.advance(hour)
    fx.provider.play(lostReply)
    await worker.run()
    expect(reports).toEqual([['provider_sign_out_failed', grantId]])
    fx.runtime.advance(20)
    await worker.run()
    expect(fx.provider.rotations()).toBe(1)
    expect(fx.provider.active()).toBeUndefined()
  })
})

describe('how a sign-out ends', () => {
  beforeEach(() => end())

  it.each<[how: string, prepare: () => void, event: string]>([
    ['refused for good', () => fx.provider.playSignOut(failing('terminal')), 'provider_signed_out'],
    [
      'at a provider that cannot be asked to',
      () => fx.provider.playSignOut(failing('disabled')),
      'provider_sign_out_skipped',
    ],
    [
      'its refresh refused for good',
      () => {
        fx.provider.end()
        fx.runtime.advance(hour)
      },
      'provider_signed_out',
    ],
  ])('a sign-out leaves nothing to end: %s', async (_how, prepare, event) => {
    prepare()
    await worker.run()
    expect(reports).toEqual([[event, grantId]])
    expect(await waiting()).toEqual([])
  })

  it.each<ProviderFailure>(['transient', 'protocol', 'denied'])(
    'a sign-out that fails as %s is tried again',
    async (failure) => {
      fx.provider.playSignOut(failing(failure))
      await worker.run()
      expect(reports).toEqual([['provider_sign_out_failed', grantId]])
      fx.runtime.advance(20)
      await worker.run()
      expect(reports.at(-1)).toEqual(['provider_signed_out', grantId])
    },
  )

  it("a sign-out logs the provider's response", async () => {
    fx.provider.playSignOut(failing('protocol'))
    const errors: unknown[] = []
    await workerWith({ report: (_event, _id, error) => void errors.push(error) }).run()
    expect(errors).toEqual([expect.objectContaining({ failure: 'protocol' })])
  })

  it('a sign-out skips a row with a fault of the program, and signs the others out', async () => {
    await end('grant b')
    fx.provider.playSignOut({
      before() {
        throw new RangeError('a bug')
      },
    })
    expect(await worker.run()).toBe(2)
    expect(new Map(reports)).toEqual(
      new Map([
        ['provider_sign_out_failed', grantId],
        ['provider_signed_out', 'grant b'],
      ]),
    )
  })
})

describe('a provider that limits requests', () => {
  const limited = (failure: ProviderFailure, retryAfterSeconds?: number) => {
    let asked = 0
    const refuse = async (): Promise<never> => {
      asked += 1
      const options = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
      throw new ProviderError(failure, '429', options)
    }
    const provider = { signOut: refuse, refresh: refuse }
    return { worker: workerWith({ provider }), asked: () => asked }
  }

  beforeEach(async () => {
    for (let grant = 0; grant < 40; grant += 1) await end(`grant ${grant}`)
  })

  it.each<[ProviderFailure, number | undefined, number]>([
    ['rate_limited', undefined, 60],
    ['rate_limited', 90, 90],
    ['transient', 90, 90],
  ])('%s with Retry-After %s ends the round, and there is none for %i s', async (failure, asks, pause) => {
    const { worker: busy, asked } = limited(failure, asks)
    await busy.run()
    expect(asked()).toBe(4)
    fx.runtime.advance(pause - 1)
    expect(await busy.run()).toBe(0)
    fx.runtime.advance(1)
    expect(await busy.run()).toBe(20)
    expect(asked()).toBe(8)
  })

  it('a transient failure without Retry-After does not end the round', async () => {
    const { worker: unlucky, asked } = limited('transient')
    await unlucky.run()
    expect(asked()).toBe(20)
  })

  it('a clock that is set back ends the pause of sign-outs', async () => {
    const { worker: busy, asked } = limited('rate_limited')
    await busy.run()
    fx.runtime.advance(-2 * hour)
    await end('another grant')
    await busy.run()
    expect(asked()).toBe(5)
  })

  it('a round of sign-outs refreshes ten sessions at most, and the others come back', async () => {
    fx.runtime.advance(hour)
    let refreshes = 0
    const provider = {
      signOut: async () => {},
      refresh: async () => {
        refreshes += 1
        return fx.provider.signedIn()
      },
    }
    const busy = workerWith({ provider })
    expect(await busy.run()).toBe(20)
    expect(refreshes).toBe(10)
    expect(reports).toHaveLength(10)
    for (let round = 0; round < 10; round += 1) {
      fx.runtime.advance(60)
      await busy.run()
    }
    expect(reports).toHaveLength(40)
    expect(reports.every(([event]) => event === 'provider_signed_out')).toBe(true)
  })
})

it('a stop starts no further sign-out, and leaves the rest for a later round', async () => {
  for (let grant = 0; grant < 12; grant += 1) await end(`grant ${grant}`)
  let isStopped = false
  const stopping = workerWith({
    async signOut() {
      isStopped = true
      await fx.runtime.sleep(10)
    },
  })
  await stopping.run(() => isStopped)
  expect(reports).toHaveLength(1)
  expect(await stopping.run(() => isStopped)).toBe(0)
  fx.runtime.advance(60)
  expect(await stopping.run()).toBe(11)
})

describe('when it is tried again', () => {
  beforeEach(() => end())

  const noAnswer = (): Promise<never> => Promise.reject(new ProviderError('transient', 'No answer.'))

  /** Returns in how many seconds the only session is due again. */
  async function delayAfterRun(): Promise<number | undefined> {
    let delay: number | undefined
    const postponeSignOut = async (_id: string, dueAt: number): Promise<void> => void (delay = dueAt - start)
    await workerWith({ store: { ...fx.store, postponeSignOut } }).run()
    return delay
  }

  it.each([
    [1, 10, 20],
    [2, 20, 40],
    [3, 40, 80],
    [8, 1280, 2560],
    [9, 1800, 3600],
    [30, 1800, 3600],
  ])(
    'a sign-out is tried again after attempt %i: %i to %i seconds later',
    async (attempts, least, longest) => {
      for (let before = 1; before < attempts; before += 1) await peek(start)
      fx.provider.playSignOut(failing('transient'))
      const seconds = await delayAfterRun()
      expect(seconds).toBeGreaterThanOrEqual(least)
      expect(seconds).toBeLessThanOrEqual(longest)
    },
  )

  it('sign-outs that failed together are tried again at different times', async () => {
    const delays = new Set<number>()
    for (let grant = 0; grant < 19; grant += 1) await end(`grant ${grant}`)
    const store = {
      ...fx.store,
      async postponeSignOut(_id: string, dueAt: number) {
        delays.add(dueAt - start)
      },
    }
    await workerWith({ store, signOut: noAnswer }).run()
    expect(delays.size).toBeGreaterThan(4)
  })

  it.each([
    [100, 100],
    [7200, 7200],
    [1, 10],
  ])('a provider that asks for %i s gets at least %i', async (asked, least) => {
    fx.provider.playSignOut(failing('rate_limited', asked))
    const seconds = await delayAfterRun()
    expect(seconds).toBeGreaterThanOrEqual(least)
    expect(seconds).toBeLessThanOrEqual(Math.max(asked, 20) + hour)
  })

  it('a sign-out is tried again for three days, until it is given up', async () => {
    fx.provider.setTtl(30 * day)
    await end('grant b')
    await fx.store.removeSignOut(grantId)
    const stubborn = workerWith({ signOut: noAnswer })
    const isGivenUp = (): boolean => reports.some(([event]) => event === 'provider_sign_out_abandoned')
    while (!isGivenUp() && fx.runtime.now() < start + 5 * day) {
      await stubborn.run()
      if (!isGivenUp()) fx.runtime.advance(300)
    }
    expect(fx.runtime.now() - start).toBeGreaterThanOrEqual(3 * day)
    expect(fx.runtime.now() - start).toBeLessThan(3 * day + 2 * hour)
    expect(reports.at(-1)).toEqual(['provider_sign_out_abandoned', 'grant b'])
    expect(reports.filter(([event]) => event === 'provider_sign_out_abandoned')).toHaveLength(1)
    expect(reports.length).toBeLessThan(250)
    expect(await stubborn.run()).toBe(0)
    expect(await waiting()).toEqual([])
  })
})

it('a session that no key opens is kept, and signed out once the key is back', async () => {
  await end()
  const sealer = createSealer(fixedKeyRing([sampleKey('other', 2)]), fx.runtime.randomBytes)
  await workerWith({ sealer }).run()
  expect(reports).toEqual([['provider_session_unreadable', grantId]])
  fx.runtime.advance(20)
  await worker.run()
  expect(reports.at(-1)).toEqual(['provider_signed_out', grantId])
  expect(fx.provider.active()).toBeUndefined()
})

describe('a store that is down', () => {
  beforeEach(() => end())

  it.each(['claimSignOuts', 'saveProviderSession', 'postponeSignOut', 'removeSignOut'] as const)(
    'a store that is down for %s ends the round, and the session comes back',
    async (operation) => {
      if (operation === 'saveProviderSession') fx.runtime.advance(hour)
      if (operation === 'postponeSignOut') fx.provider.playSignOut(failing('transient'))
      const broken = workerWith({ store: { ...fx.store, [operation]: storeIsDown } })
      await expect(broken.run()).rejects.toThrow('The store is down.')
      expect(reports).toEqual([])
      fx.runtime.advance(60)
      expect(await worker.run()).toBe(1)
      expect(reports).toEqual([['provider_signed_out', grantId]])
    },
  )

  it('a store that is down for one session starts no new sign-out, and running ones finish', async () => {
    for (let grant = 0; grant < 9; grant += 1) await end(`grant ${grant}`)
    let begun = 0
    const signOut = async (): Promise<void> => {
      begun += 1
      const isFirst = begun === 1
      await fx.runtime.sleep(10)
      if (!isFirst) await fx.runtime.sleep(10)
    }
    const removed: string[] = []
    const store = {
      ...fx.store,
      removeSignOut: async (id: string) => (id === grantId ? storeIsDown() : void removed.push(id)),
    }
    await expect(workerWith({ store, signOut }).run()).rejects.toThrow('The store is down.')
    expect(begun).toBe(4)
    expect(removed).toEqual(['grant 0', 'grant 1', 'grant 2'])
  })
})
