import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite.ts'
import { addGrant, grantSample, race, start } from '../../../tests/support/server/core/grant-sample.ts'
import {
  createKeeperFixture,
  type KeeperFixture,
  never,
  sampleKey,
  storeIsDown,
} from '../../../tests/support/server/core/keeper-fixture.ts'
import { failing, lostReply } from '../../../tests/support/server/core/rotating-provider.ts'
import type { StoredProviderSession } from './grant.ts'
import { createSealer } from '../seal.ts'
import type { KeptSession } from './served-session.ts'
import type { Store } from '../store.ts'

const hour = 3600
const day = 86_400

let fx: KeeperFixture

/** Creates a grant whose token has just expired, so that its keeper must refresh. */
async function connectAndExpire(rule?: Parameters<typeof createKeeperFixture>[0]): Promise<void> {
  fx = createKeeperFixture(rule)
  await fx.connect()
  fx.runtime.advance(hour)
}

const version = (number: number) => ({ kind: 'live', session: { version: number } })

/** Expects the stored token to be the one the provider accepts next. */
async function expectInStep(): Promise<void> {
  expect(await fx.storedRefreshToken()).toBe(fx.provider.active())
}

beforeEach(() => connectAndExpire())

it('a crash before the request leaves changes nothing: the lease ends, and the next caller refreshes', async () => {
  void fx.keeper('dead', { provider: { refresh: never } }).keep(await fx.stored())
  const keeper = fx.keeper('other')
  // Waiting ends before the lease does.
  expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 1 })
  const waited = fx.runtime.now() - start - hour
  expect(waited).toBeGreaterThanOrEqual(10)
  expect(waited).toBeLessThan(15)
  expect(fx.provider.presented).toEqual([])
  fx.runtime.advance(15 - waited)
  expect(await fx.keep(keeper)).toMatchObject(version(2))
  expect(fx.provider.presented).toEqual(['refresh 1'])
})

describe('the provider has rotated the token and the response was lost', () => {
  it('a lost response: the same token returns the active one', async () => {
    fx.provider.play(lostReply)
    expect(await fx.keep(fx.keeper('one'))).toMatchObject(version(2))
    expect(fx.provider.presented).toEqual(['refresh 1', 'refresh 1'])
    expect(fx.provider.rotations()).toBe(1)
    await expectInStep()
  })

  it.each([
    ['as soon as the lease is over', 15],
    ['twenty days later', 20 * day],
  ])('a crash before the new session was stored: a restart recovers %s', async (_when, seconds) => {
    const dying = fx.keeper('dying', { store: { ...fx.store, saveProviderSession: never } })
    void dying.keep(await fx.stored())
    await vi.waitFor(() => expect(fx.provider.rotations()).toBe(1))
    expect(await fx.storedRefreshToken()).toBe('refresh 1')
    fx.runtime.advance(seconds)
    expect(await fx.keep(fx.keeper('restarted'))).toMatchObject(version(2))
    expect(fx.provider.rotations()).toBe(1)
    await expectInStep()
    expect(fx.reports).toEqual(['provider_refreshed'])
  })
})

it('two instances refresh, because a lease was outlasted: both get the same child, the later write is discarded, both serve what is stored', async () => {
  const [slow, fast] = [fx.keeper('slow'), fx.keeper('fast')]
  let other: KeptSession | undefined
  fx.provider.play({
    async after() {
      fx.runtime.advance(16)
      other = await fx.keep(fast)
    },
  })
  const kept = await fx.keep(slow)
  expect(other).toEqual(kept)
  expect(kept).toEqual({ kind: 'live', session: await fx.stored() })
  expect(await fx.stored()).toMatchObject({ version: 2 })
  expect(fx.reports).toEqual(['provider_refreshed'])
  expect(fx.provider.presented).toEqual(['refresh 1', 'refresh 1'])
  await expectInStep()
})

describe('a holder stalls while another advances two generations', () => {
  /** Lets the other instance act once the stalled one has lost its lease. */
  async function advanceTwice(): Promise<void> {
    const fast = fx.keeper('fast')
    fx.runtime.advance(16)
    await fx.keep(fast)
    fx.runtime.advance(hour)
    await fx.keep(fast)
  }

  it('a stalled holder that resumes after the response cannot write, and its token is never presented', async () => {
    const stalled = fx.keeper('stalled')
    fx.provider.play({ after: advanceTwice })
    expect(await fx.keep(stalled)).toMatchObject(version(3))
    await expectInStep()
    fx.runtime.advance(hour)
    expect(await fx.keep(stalled)).toMatchObject(version(4))
    expect(fx.provider.active()).toBe('refresh 4')
  })

  it('a stalled holder that resumes before its request ends nothing when its grandparent token is refused', async () => {
    fx.provider.play({ before: advanceTwice })
    expect(await fx.keep(fx.keeper('stalled'))).toMatchObject(version(3))
    expect(await fx.endReason()).toBeUndefined()
    expect(fx.reports).toEqual(['provider_refreshed', 'provider_refreshed'])
  })
})

describe('a process that is paused between lease and request', () => {
  /** Creates a keeper whose first lease request returns `seconds` late; `meanwhile` runs in between. */
  function lateKeeper(seconds: number, meanwhile: () => Promise<unknown>) {
    let isLate = true
    const leaseProviderSession: Store['leaseProviderSession'] = async (lease, now) => {
      const result = await fx.store.leaseProviderSession(lease, now)
      if (isLate) {
        isLate = false
        fx.runtime.advance(seconds)
        await meanwhile()
      }
      return result
    }
    return fx.keeper('late', { store: { ...fx.store, leaseProviderSession } })
  }

  it.each([{ strict: true }, { strict: false }])(
    'a process paused past its lease sends no outdated token ($strict one-time tokens)',
    async (rule) => {
      await connectAndExpire(rule)
      const fast = fx.keeper('fast')
      const late = lateKeeper(16, async () => {
        await fx.keep(fast)
        fx.runtime.advance(hour)
        await fx.keep(fast)
      })
      expect(await fx.keep(late)).toMatchObject(version(3))
      expect(fx.provider.presented).toEqual(['refresh 1', 'refresh 2'])
      await expectInStep()
    },
  )

  it('a process paused for three seconds returns the lease, reads the session again and refreshes, without reporting a loss', async () => {
    await connectAndExpire({ strict: true })
    const late = lateKeeper(3, async () => {})
    fx.provider.end()
    expect(await fx.keep(late)).toEqual({ kind: 'ended' })
    expect(fx.provider.presented).toEqual(['refresh 1'])
    expect(fx.reports).toEqual(['provider_session_ended'])
  })

  it('a caller gets unavailable for ten seconds if a slow store delays every lease', async () => {
    const leaseProviderSession: Store['leaseProviderSession'] = async (lease, now) => {
      const result = await fx.store.leaseProviderSession(lease, now)
      fx.runtime.advance(3)
      return result
    }
    const keeper = fx.keeper('slow', { store: { ...fx.store, leaseProviderSession } })
    expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 1 })
    expect(fx.runtime.now() - start - hour).toBeLessThan(20)
    expect(fx.provider.presented).toEqual([])
  })
})

describe('the store cannot take what the provider has issued', () => {
  /** Returns the fixture's store with `saveProviderSession` failing `times` times. */
  function failingSaves(times: number): Store {
    let failures = times
    return {
      ...fx.store,
      saveProviderSession(session: StoredProviderSession) {
        failures -= 1
        return failures >= 0 ? storeIsDown() : fx.store.saveProviderSession(session)
      },
    }
  }

  it('a session that the store cannot take twice is saved at the third try, after a longer pause each time', async () => {
    const pauses: number[] = []
    const sleep = (ms: number): Promise<void> => {
      pauses.push(ms)
      return fx.runtime.sleep(ms)
    }
    const runtime = { ...fx.runtime, sleep }
    expect(await fx.keep(fx.keeper('one', { store: failingSaves(2), runtime }))).toMatchObject(version(2))
    expect(pauses).toEqual([100, 300])
    expect(fx.provider.presented).toEqual(['refresh 1'])
    await expectInStep()
  })

  it.each([{ strict: false }, { strict: true }])(
    'a session that the store cannot take three times is unavailable, and stored by the next call without asking the provider ($strict one-time tokens)',
    async (rule) => {
      await connectAndExpire(rule)
      const keeper = fx.keeper('one', { store: failingSaves(3) })
      expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
      expect(await fx.stored()).toMatchObject({ version: 1 })
      expect(fx.reports).toEqual(['provider_session_unsaved'])
      expect(await fx.keep(keeper)).toMatchObject(version(2))
      expect(fx.provider.presented).toEqual(['refresh 1'])
      await expectInStep()
      expect(fx.reports).toEqual(['provider_session_unsaved', 'provider_refreshed'])
    },
  )

  it('a session is stored as soon as the store can be written, without another call or request', async () => {
    await connectAndExpire({ strict: true })
    await fx.connect('grant b')
    const keeper = fx.keeper('one', { store: failingSaves(5) })
    await fx.keep(keeper)
    // Once a second; the store is down for two more of them.
    for (let second = 0; second < 2; second += 1) await keeper.saveUnsaved()
    expect(await fx.stored()).toMatchObject({ version: 1 })
    await keeper.saveUnsaved()
    expect(await fx.stored()).toMatchObject({ version: 2 })
    await expectInStep()
    fx.runtime.advance(15)
    expect(await fx.keep(fx.keeper('two'))).toMatchObject(version(2))
    expect(fx.provider.presented).toEqual(['refresh 1'])
    expect(fx.reports).toEqual(['provider_session_unsaved', 'provider_refreshed'])
  })

  it('a stop waits for running refreshes, and stores their tokens', async () => {
    await connectAndExpire({ strict: true })
    let answer = (): void => {}
    fx.provider.play({ after: () => new Promise((resolve) => (answer = resolve)) })
    const keeper = fx.keeper('one', { store: failingSaves(3) })
    const keeping = fx.keep(keeper)
    await turnsOfTheLoop()
    let isSettled = false
    const settling = keeper.settle().then(() => (isSettled = true))
    await turnsOfTheLoop()
    expect(isSettled).toBe(false)
    answer()
    await Promise.all([keeping, settling])
    await expectInStep()
  })

  it('a stop waits for store and provider within limits, and reports the lost sessions', async () => {
    await fx.connect('grant b')
    const keeper = fx.keeper('one', { store: failingSaves(Infinity) })
    await fx.keep(keeper)
    fx.runtime.advance(hour)
    fx.provider.play({ before: never })
    void fx.keep(keeper, 'grant b')
    await turnsOfTheLoop()
    const before = fx.runtime.now()
    await keeper.settle()
    expect(fx.runtime.now() - before).toBeLessThanOrEqual(16)
    expect(fx.reports).toEqual(['provider_session_unsaved', 'provider_sessions_lost'])
  })

  it('a kept session is stored after an hour, before it is refreshed', async () => {
    await connectAndExpire({ strict: true })
    const keeper = fx.keeper('one', { store: failingSaves(3) })
    await fx.keep(keeper)
    fx.runtime.advance(hour)
    expect(await fx.keep(keeper)).toMatchObject({ kind: 'unavailable' })
    expect(await fx.stored()).toMatchObject({ version: 2 })
    expect(await fx.keep(keeper)).toMatchObject(version(3))
    expect(fx.provider.presented).toEqual(['refresh 1', 'refresh 2'])
    await expectInStep()
  })

  it('a due token is served while it is valid and the store is down', async () => {
    fx = createKeeperFixture()
    await fx.connect()
    fx.runtime.advance(hour - 60)
    expect(await fx.keep(fx.keeper('one', { store: failingSaves(3) }))).toMatchObject(version(1))
  })

  it('calls are rejected while the store is down for everything, none is stuck, and all work once it is back', async () => {
    let isDown = false
    const whileUp = <Arguments extends unknown[], Result>(work: (...given: Arguments) => Promise<Result>) => {
      return (...given: Arguments): Promise<Result> => (isDown ? storeIsDown() : work(...given))
    }
    const store: Store = {
      ...fx.store,
      findProviderSession: whileUp(fx.store.findProviderSession),
      leaseProviderSession: whileUp(fx.store.leaseProviderSession),
      releaseProviderSession: whileUp(fx.store.releaseProviderSession),
      saveProviderSession: whileUp(fx.store.saveProviderSession),
    }
    const keeper = fx.keeper('one', { store })
    const session = await fx.stored()
    fx.provider.play({ after: () => void (isDown = true) })
    expect(await keeper.keep(session)).toMatchObject({ kind: 'unavailable' })
    await expect(keeper.keep(session)).rejects.toThrow('The store is down.')
    await expect(keeper.keep(session)).rejects.toThrow('The store is down.')
    isDown = false
    expect(await keeper.keep(session)).toMatchObject(version(2))
    expect(fx.provider.presented).toEqual(['refresh 1'])
    expect(await fx.endReason()).toBeUndefined()
  })

  it('a kept session is dropped if another instance has refreshed meanwhile', async () => {
    const keeper = fx.keeper('one', { store: failingSaves(3) })
    const session = await fx.stored()
    await keeper.keep(session)
    fx.runtime.advance(15)
    const other = fx.keeper('two')
    await fx.keep(other)
    expect(await keeper.keep(session)).toMatchObject(version(2))
    fx.runtime.advance(hour)
    expect(await fx.keep(keeper)).toMatchObject(version(3))
    await expectInStep()
    expect(fx.provider.presented).toEqual(['refresh 1', 'refresh 1', 'refresh 2'])
  })

  it('a fault other than an outage is rejected, and the issued tokens are kept', async () => {
    let isBroken = true
    const saveProviderSession = (session: StoredProviderSession): Promise<boolean> =>
      isBroken ? Promise.reject(new RangeError('a bug')) : fx.store.saveProviderSession(session)
    const keeper = fx.keeper('one', { store: { ...fx.store, saveProviderSession } })
    await expect(fx.keep(keeper)).rejects.toThrow(RangeError)
    isBroken = false
    expect(await fx.keep(keeper)).toMatchObject(version(2))
    expect(fx.provider.presented).toEqual(['refresh 1'])
  })
})

describe('a provider with one-time refresh tokens', () => {
  beforeEach(() => connectAndExpire({ strict: true }))

  it('a lost response of one-time refresh tokens is retried once, then the grant ends and the loss is reported', async () => {
    fx.provider.play(lostReply)
    expect(await fx.keep(fx.keeper('one'))).toEqual({ kind: 'ended' })
    expect(fx.provider.presented).toEqual(['refresh 1', 'refresh 1'])
    expect(await fx.endReason()).toBe('provider_session_ended')
    expect(fx.reports).toEqual(['provider_refresh_lost'])
  })

  it('a lost response and a crash before the new session was stored: the next instance reports the loss', async () => {
    void fx.keeper('dying', { store: { ...fx.store, saveProviderSession: never } }).keep(await fx.stored())
    await vi.waitFor(() => expect(fx.provider.rotations()).toBe(1))
    fx.runtime.advance(15)
    expect(await fx.keep(fx.keeper('restarted'))).toEqual({ kind: 'ended' })
    expect(fx.reports).toEqual(['provider_refresh_lost'])
  })

  it.each([
    ['at the first attempt', []],
    ['after an attempt that is known to have done nothing', [failing('rate_limited')]],
  ])(
    'a provider that refuses %s has ended the session, and nothing is reported lost',
    async (_when, faults) => {
      fx.provider.play(...faults)
      fx.provider.end()
      expect(await fx.keep(fx.keeper('one'))).toEqual({ kind: 'ended' })
      expect(fx.reports).toEqual(['provider_session_ended'])
    },
  )
})

describe('the key that sealed a session is missing', () => {
  const other = sampleKey('other', 2)

  it.each([
    ['due', 0],
    ['in the middle of its life', -hour / 2],
  ])(
    'a session whose key is missing (%s) is unavailable, never ended; other instances go on; it works again once the key is back',
    async (_when, seconds) => {
      fx.runtime.advance(seconds)
      let keys = [other]
      const ring = { keys: () => keys, refresh: () => {} }
      const keeper = fx.keeper('lost', { sealer: createSealer(ring, fx.runtime.randomBytes) })
      expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
      expect(fx.provider.presented).toEqual([])
      expect(fx.reports).toEqual(['provider_session_unreadable'])
      expect(await fx.endReason()).toBeUndefined()
      keys = [other, sampleKey('k', 1)]
      expect(await fx.keep(keeper)).toMatchObject({ kind: 'live' })
      expect(keeper.open(await fx.stored()).accessToken).toMatch(/^access \d$/)
    },
  )
})

it('a crash while a code is redeemed stores both the use of the code and the tokens, or neither', async () => {
  const path = join(temporaryFolder(), 'server.db')
  const store = openSqliteStore(path)
  const [first, second] = [grantSample('a'), grantSample('b')]
  await addGrant(store, first)
  await store.addAuthorizationCode(second.code, second.session)
  // The tokens of another grant cannot be written again: all earlier changes must be undone.
  await expect(
    store.redeemAuthorizationCode(second.code.codeHash, first.tokens, start),
  ).rejects.toBeInstanceOf(Error)
  await store.close()

  const reopened = openSqliteStore(path)
  expect(await reopened.findProviderSession(second.grant.id)).toBeUndefined()
  expect(await reopened.redeemAuthorizationCode(second.code.codeHash, second.tokens, start)).toEqual({
    kind: 'redeemed',
  })
  expect(await reopened.findAccessToken(second.tokens.accessHash, start)).toMatchObject({
    grant: second.grant,
  })
  await reopened.close()
})

it.each([1, 3])(
  'fifty callers at the moment of expiry on %i instances cause exactly one refresh',
  async (instances) => {
    const keepers = Array.from({ length: instances }, (_, index) => fx.keeper(`instance ${index}`))
    const session = await fx.stored()
    // While the winner waits for the provider, the others find the lease taken and wait.
    fx.provider.play({ before: () => fx.runtime.sleep(50) })
    const kept = await race(async (index) => keepers[index % instances]?.keep(session))
    expect(fx.provider.presented).toEqual(['refresh 1'])
    expect(kept).toEqual(kept.map(() => ({ kind: 'live', session: expect.objectContaining({ version: 2 }) })))
  },
)

/** Runs enough event loop turns for the store's writes before the provider is asked. */
async function turnsOfTheLoop(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
