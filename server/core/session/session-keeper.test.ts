import { beforeEach, describe, expect, it } from 'vitest'
import { race, start } from '../../../tests/support/server/core/grant-sample.ts'
import {
  createKeeperFixture,
  grantId,
  type KeeperFixture,
  sampleKey,
  storeIsDown,
} from '../../../tests/support/server/core/keeper-fixture.ts'
import { createRotatingProvider, failing } from '../../../tests/support/server/core/rotating-provider.ts'
import { createSealer, fixedKeyRing } from '../seal.ts'
import { ProviderError } from './session-provider.ts'
import type { Store } from '../store.ts'

const hour = 3600

let fx: KeeperFixture

beforeEach(async () => {
  fx = createKeeperFixture()
  await fx.connect()
})

const version = (number: number) => ({ kind: 'live', session: { version: number } })

it('a token that is not due is served without asking the provider or the store', async () => {
  const session = await fx.stored()
  const keeper = fx.keeper('one', { store: {} as Store })
  fx.runtime.advance(hour - 151)
  expect(await keeper.keep(session)).toEqual({ kind: 'live', session })
  expect(fx.provider.presented).toEqual([])
})

describe('a refresh', () => {
  beforeEach(() => fx.runtime.advance(hour))

  it('a refresh stores the new tokens before anyone sees them', async () => {
    const keeper = fx.keeper('one')
    const kept = await fx.keep(keeper)
    expect(kept).toEqual({ kind: 'live', session: await fx.stored() })
    expect(await fx.stored()).toMatchObject({
      version: 2,
      issuedAt: start + hour,
      expiresAt: start + 2 * hour,
    })
    expect(await fx.storedRefreshToken()).toBe('refresh 2')
    expect(keeper.open(await fx.stored()).accessToken).toBe('access 2')
    expect(fx.reports).toEqual(['provider_refreshed'])
  })

  it('a slow refresh counts the life of a token from the response', async () => {
    fx.provider.play({ before: () => fx.runtime.sleep(8000) })
    await fx.keep(fx.keeper('one'))
    expect(await fx.stored()).toMatchObject({ issuedAt: start + hour + 8, expiresAt: start + 2 * hour + 8 })
  })

  it('a refresh gives the provider the whole session, its ID token included', async () => {
    fx = createKeeperFixture({ strict: true, idToken: 'id 1' })
    const signedIn = { ...fx.provider.signedIn() }
    await fx.connect()
    fx.runtime.advance(hour)
    await fx.keep(fx.keeper('one'))
    expect(fx.provider.given).toEqual([signedIn])
  })

  it('a refresh holds a lease of fifteen seconds, longer than any call to the provider, and gives it back', async () => {
    const leases: number[] = []
    const leaseProviderSession: Store['leaseProviderSession'] = (lease, now) => {
      leases.push(lease.until - now)
      return fx.store.leaseProviderSession(lease, now)
    }
    await fx.keep(fx.keeper('one', { store: { ...fx.store, leaseProviderSession } }))
    expect(leases).toEqual([15])
    const next = { grantId, version: 2, owner: 'two', until: fx.runtime.now() + 15 }
    expect(await fx.store.leaseProviderSession(next, fx.runtime.now())).toEqual({
      kind: 'leased',
      attempt: 1,
    })
  })

  it('a refresh is separate for each grant', async () => {
    const ids = [grantId, 'grant b', 'grant c']
    for (const id of ids.slice(1)) await fx.connect(id)
    fx.runtime.advance(hour)
    const keeper = fx.keeper('one', {
      provider: { refresh: (session) => createRotatingProvider(fx.runtime).refresh(session) },
    })
    const kept = await Promise.all(ids.flatMap((id) => [fx.keep(keeper, id), fx.keep(keeper, id)]))
    expect(kept.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => 'live'))
    expect(fx.reports).toEqual(['provider_refreshed', 'provider_refreshed', 'provider_refreshed'])
  })

  it('a refresh that returns a token which is due at once is not repeated endlessly', async () => {
    fx.provider.setTtl(0)
    expect(await fx.keep(fx.keeper('one'))).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
    expect(fx.provider.presented).toHaveLength(1)
    expect(await fx.stored()).toMatchObject({ version: 2 })
  })

  it('a fault in the program is not taken for a refusal, and the next call starts afresh', async () => {
    fx.provider.play({
      before() {
        throw new RangeError('a bug')
      },
    })
    const keeper = fx.keeper('one')
    await expect(fx.keep(keeper)).rejects.toThrow(RangeError)
    expect(await fx.keep(keeper)).toMatchObject({ kind: 'live' })
  })
})

it('a token that is due and still valid is served while another instance refreshes it', async () => {
  fx.runtime.advance(hour - 60)
  const holder = { grantId, version: 1, owner: 'other', until: fx.runtime.now() + 15 }
  await fx.store.leaseProviderSession(holder, fx.runtime.now())
  expect(await fx.keep(fx.keeper('one'))).toMatchObject(version(1))
  expect(fx.provider.presented).toEqual([])
  expect(fx.runtime.now()).toBe(start + hour - 60)
})

describe('a store that is down', () => {
  beforeEach(() => fx.runtime.advance(hour))

  it.each(['findProviderSession', 'leaseProviderSession', 'endRefusedSession'] as const)(
    'a store that is down for %s: the call is rejected, the grant lives, and the next call starts afresh',
    async (operation) => {
      const session = await fx.stored()
      const store = { ...fx.store, [operation]: storeIsDown }
      const keeper = fx.keeper('one', { store })
      fx.provider.end()
      await expect(keeper.keep(session)).rejects.toThrow('The store is down.')
      expect(await fx.endReason()).toBeUndefined()
      store[operation] = fx.store[operation] as never
      fx.runtime.advance(15)
      expect(await keeper.keep(session)).toEqual({ kind: 'ended' })
    },
  )

  it('a lease that a store which is down cannot take back expires by itself, and the caller gets the session', async () => {
    fx.provider.play(failing('rate_limited', 20))
    const keeper = fx.keeper('one', { store: { ...fx.store, releaseProviderSession: storeIsDown } })
    expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 20 })
    fx.runtime.advance(20)
    expect(await fx.keep(fx.keeper('two'))).toMatchObject(version(2))
  })
})

describe('definitive and passing refusals', () => {
  beforeEach(() => fx.runtime.advance(hour))

  it('a definitive refusal ends the grant, once for fifty callers, and leaves nothing to sign out', async () => {
    fx.provider.play(failing('terminal'))
    const keeper = fx.keeper('one')
    const session = await fx.stored()
    expect(await race(() => keeper.keep(session))).toEqual(
      Array.from({ length: 50 }, () => ({ kind: 'ended' })),
    )
    expect(await fx.endReason()).toBe('provider_session_ended')
    expect(fx.reports).toEqual(['provider_session_ended'])
    expect(await keeper.keep(session)).toEqual({ kind: 'ended' })
    expect(fx.provider.presented).toHaveLength(1)
    const now = fx.runtime.now()
    expect(await fx.store.claimSignOuts({ limit: 10, until: now }, now)).toEqual([])
  })

  it.each(['transient', 'protocol', 'rate_limited', 'invalid_token'] as const)(
    'a passing refusal (%s) never ends a grant',
    async (failure) => {
      fx.provider.play(failing(failure), failing(failure))
      const keeper = fx.keeper('one')
      expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
      expect(fx.provider.presented).toHaveLength(2)
      expect(fx.reports).toEqual(['provider_refresh_failed'])
      fx.runtime.advance(5)
      expect(await fx.keep(keeper)).toMatchObject(version(2))
    },
  )

  it("a refusal is logged with the provider's answer", async () => {
    const told: unknown[] = []
    fx.provider.play(failing('protocol'), failing('protocol'))
    await fx.keep(fx.keeper('one', { report: (...event) => void told.push(event) }))
    expect(told).toEqual([
      ['provider_refresh_failed', grantId, expect.objectContaining({ failure: 'protocol' })],
    ])
  })

  it('the provider is not asked for five seconds after a failure', async () => {
    fx.provider.play(failing('transient'), failing('transient'))
    const keeper = fx.keeper('one')
    const failedAt = fx.runtime.now()
    await fx.keep(keeper)
    fx.runtime.advance(failedAt + 4 - fx.runtime.now())
    expect(await race(() => fx.keep(keeper))).toEqual(
      Array.from({ length: 50 }, () => ({ kind: 'unavailable', retryAfterSeconds: 1 })),
    )
    expect(fx.provider.presented).toHaveLength(2)
    fx.runtime.advance(1)
    await fx.keep(keeper)
    expect(fx.provider.presented).toHaveLength(3)
  })

  it.each([
    [0, 1],
    [30, 30],
    [60, 60],
    [86_400, 60],
  ])(
    'a refresh pauses %i s for a provider that asks for %i s, without a second try',
    async (asked, pause) => {
      fx.provider.play(failing('rate_limited', asked))
      const keeper = fx.keeper('one')
      expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: pause })
      fx.runtime.advance(pause - 1)
      expect(await fx.keep(keeper)).toEqual({ kind: 'unavailable', retryAfterSeconds: 1 })
      expect(fx.provider.presented).toHaveLength(1)
      fx.runtime.advance(1)
      expect(await fx.keep(keeper)).toMatchObject({ kind: 'live' })
    },
  )

  it('a refresh does not pause longer when the clock is set back', async () => {
    fx.runtime.advance(hour)
    fx.provider.play(failing('transient'), failing('transient'))
    const keeper = fx.keeper('one')
    await fx.keep(keeper)
    fx.runtime.advance(-hour / 2)
    expect(await fx.keep(keeper)).toMatchObject(version(2))
  })

  it('a failed refresh returns the lease, so that another instance may try at once', async () => {
    fx.provider.play(failing('transient'), failing('transient'))
    await fx.keep(fx.keeper('one'))
    expect(await fx.keep(fx.keeper('two'))).toMatchObject(version(2))
  })
})

describe('attempts that take their time', () => {
  const timeout = {
    async before(): Promise<void> {
      await fx.runtime.sleep(8000)
      throw new ProviderError('transient', 'No answer within eight seconds.', { outcomeKnown: false })
    },
  }

  it('a token that ended meanwhile is not served', async () => {
    fx.runtime.advance(hour - 10)
    fx.provider.play(timeout, timeout)
    expect(await fx.keep(fx.keeper('one'))).toEqual({ kind: 'unavailable', retryAfterSeconds: 5 })
  })

  it('a pause counts from the end of the last attempt', async () => {
    fx.runtime.advance(hour - 85)
    fx.provider.play(timeout, timeout)
    const keeper = fx.keeper('one')
    expect(await fx.keep(keeper)).toMatchObject(version(1))
    fx.runtime.advance(4)
    await fx.keep(keeper)
    expect(fx.provider.presented).toHaveLength(2)
    fx.runtime.advance(1)
    expect(await fx.keep(keeper)).toMatchObject(version(2))
  })
})

describe('the key ring', () => {
  const other = sampleKey('other', 2)

  it('a session is opened once, not on every call', async () => {
    let opened = 0
    const open = (...given: Parameters<typeof fx.sealer.open>): string | undefined => {
      opened += 1
      return fx.sealer.open(...given)
    }
    const keeper = fx.keeper('one', { sealer: { ...fx.sealer, open } })
    for (let call = 0; call < 10; call += 1) await fx.keep(keeper)
    expect(opened).toBe(1)
  })

  it('a session sealed under a key unknown here is unavailable', async () => {
    const keeper = fx.keeper('one')
    await fx.keep(keeper)
    fx.runtime.advance(hour)
    const newer = createSealer(fixedKeyRing([other, sampleKey('k', 1)]), fx.runtime.randomBytes)
    const session = await fx.stored()
    await fx.keep(fx.keeper('newer', { sealer: newer }))
    expect(await keeper.keep(session)).toMatchObject({ kind: 'unavailable' })
  })

  it('a refresh re-encrypts under the first key, so that an old key can be retired', async () => {
    fx.runtime.advance(hour)
    const rotated = createSealer(fixedKeyRing([other, sampleKey('k', 1)]), fx.runtime.randomBytes)
    await fx.keep(fx.keeper('one', { sealer: rotated }))
    const sealer = createSealer(fixedKeyRing([other]), fx.runtime.randomBytes)
    expect(fx.keeper('one', { sealer }).open(await fx.stored()).accessToken).toBe('access 2')
  })
})

describe('an ended grant', () => {
  beforeEach(() => fx.runtime.advance(hour))

  it('an ended grant is ended, and the provider is not asked', async () => {
    const session = await fx.stored()
    await fx.store.endGrant(grantId, 'code_reuse', fx.runtime.now())
    expect(await fx.keeper('one').keep(session)).toEqual({ kind: 'ended' })
    expect(fx.provider.presented).toEqual([])
  })

  it('a grant that ended while the provider answered is ended, and its newest session is the one to sign out', async () => {
    fx.provider.play({ after: () => fx.store.endGrant(grantId, 'refresh_token_reuse', fx.runtime.now()) })
    expect(await fx.keep(fx.keeper('one'))).toEqual({ kind: 'ended' })
    const now = fx.runtime.now()
    expect(await fx.store.claimSignOuts({ limit: 10, until: now + 60 }, now)).toMatchObject([
      { session: { grantId, version: 2 } },
    ])
  })
})
