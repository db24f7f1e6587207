import { beforeEach, describe, expect, it } from 'vitest'
import {
  createKeeperFixture,
  grantId,
  type KeeperFixture,
  storeIsDown,
} from '../../../tests/support/server/core/keeper-fixture.ts'
import {
  createRotatingProvider,
  failing,
  providerIssuer,
  refusing,
} from '../../../tests/support/server/core/rotating-provider.ts'
import type { SessionKeeper } from './session-keeper.ts'

const hour = 3600

let fx: KeeperFixture
let keeper: SessionKeeper

beforeEach(async () => {
  fx = createKeeperFixture()
  await fx.connect()
  fx.runtime.advance(hour)
  keeper = fx.keeper('one')
})

/** Makes one `/mcp` call whose refreshes are all refused; returns its result. */
async function refusedCall(each = keeper): Promise<string> {
  fx.provider.play(refusing, refusing)
  const { kind } = await fx.keep(each)
  fx.provider.play()
  return kind
}

/** Renews the session of another connection to the same provider, at another instance. */
async function renewAnother(name: string): Promise<void> {
  const provider = createRotatingProvider(fx.runtime)
  const other = fx.keeper(`instance ${name}`, { provider })
  await fx.connect(`grant ${name}`)
  fx.runtime.advance(hour)
  expect(await fx.keep(other, `grant ${name}`)).toMatchObject({ kind: 'live' })
}

const hasEnded = async (): Promise<boolean> => (await fx.store.findProviderSession(grantId)) === undefined

describe('a session whose refresh is refused by a readable answer that is not final', () => {
  it('a session whose refresh is refused ends with a separate reason after an hour in which another session was renewed', async () => {
    expect(await refusedCall()).toBe('unavailable')
    await renewAnother('b')
    expect(await refusedCall()).toBe('ended')
    expect(await fx.endReason()).toBe('provider_refresh_refused')
    expect(fx.reports).toEqual(['provider_refresh_failed', 'provider_refreshed', 'provider_refresh_refused'])
    const now = fx.runtime.now()
    expect(await fx.store.claimSignOuts({ limit: 10, until: now }, now)).toEqual([])
  })

  it('a session whose refresh is refused ends at another instance, too, which has seen neither the refusals nor the renewal', async () => {
    await refusedCall()
    await renewAnother('b')
    expect(await refusedCall(fx.keeper('restarted'))).toBe('ended')
  })

  it('a session whose refresh is refused continues for an hour although others are renewed, and then ends', async () => {
    await refusedCall()
    const refusedAt = fx.runtime.now()
    await fx.store.recordProviderRenewal(providerIssuer, refusedAt + 60)
    fx.runtime.advance(hour - 10)
    expect(await refusedCall()).toBe('unavailable')
    fx.runtime.advance(10)
    expect(await refusedCall()).toBe('ended')
  })

  it('a session whose refresh is refused continues within the hour', async () => {
    await renewAnother('b')
    await refusedCall()
    fx.runtime.advance(hour - 10)
    expect(await refusedCall()).toBe('unavailable')
    expect(await hasEnded()).toBe(false)
  })

  it('a session whose refresh is refused continues while no other session is renewed either, as the fault is then not its own', async () => {
    await renewAnother('b')
    for (let calls = 0; calls < 5; calls += 1) {
      expect(await refusedCall()).toBe('unavailable')
      fx.runtime.advance(hour)
    }
    expect(await hasEnded()).toBe(false)
  })

  it.each(['transient', 'rate_limited', 'protocol'] as const)(
    'a refusal of %s does not count towards the end of a session',
    async (failure) => {
      for (const name of ['b', 'c']) {
        fx.provider.play(failing(failure), failing(failure))
        expect((await fx.keep(keeper)).kind).toBe('unavailable')
        await renewAnother(name)
      }
      expect(await hasEnded()).toBe(false)
    },
  )

  it('the hour of refusals starts over after a successful refresh', async () => {
    await refusedCall()
    fx.runtime.advance(10)
    expect((await fx.keep(keeper)).kind).toBe('live')
    fx.runtime.advance(hour)
    await fx.store.recordProviderRenewal(providerIssuer, fx.runtime.now())
    expect(await refusedCall()).toBe('unavailable')
    expect(await hasEnded()).toBe(false)
  })

  it('a session whose refresh is refused is unavailable while the store cannot say since when, and ends once it can', async () => {
    await refusedCall()
    await renewAnother('b')
    const blind = fx.keeper('blind', { store: { ...fx.store, releaseProviderSession: storeIsDown } })
    expect(await refusedCall(blind)).toBe('unavailable')
    fx.runtime.advance(20)
    expect(await refusedCall()).toBe('ended')
  })
})

it('renewals are recorded at most once a minute', async () => {
  const recorded: number[] = []
  const store = {
    ...fx.store,
    recordProviderRenewal(issuer: string, at: number) {
      recorded.push(at)
      return fx.store.recordProviderRenewal(issuer, at)
    },
  }
  const one = fx.keeper('one', { store })
  fx.provider.setTtl(10)
  for (let calls = 0; calls < 10; calls += 1) {
    await fx.keep(one)
    fx.runtime.advance(11)
  }
  expect(fx.provider.rotations()).toBe(10)
  expect(recorded).toHaveLength(2)
  expect(await fx.store.findProviderRenewal(providerIssuer)).toBe(recorded[1])
})

it('a refresh rejects if a lease cannot be returned for another reason than the store', async () => {
  const broken = { ...fx.store, releaseProviderSession: () => Promise.reject(new TypeError('mistake')) }
  fx.provider.play(refusing, refusing)
  await expect(fx.keep(fx.keeper('broken', { store: broken }))).rejects.toThrow('mistake')
})

it('a refresh does not send a request after its lease has ended, as the next owner may refresh', async () => {
  const slow = {
    ...fx.store,
    async leaseProviderSession(...given: Parameters<typeof fx.store.leaseProviderSession>) {
      const lease = await fx.store.leaseProviderSession(...given)
      fx.runtime.advance(3)
      return lease
    },
  }
  expect((await fx.keep(fx.keeper('slow', { store: slow }))).kind).toBe('unavailable')
  expect(fx.provider.rotations()).toBe(0)
  // It gave the lease back.
  expect((await fx.keep(keeper)).kind).toBe('live')
})
