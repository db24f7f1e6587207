import * as fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { dueSignOuts, start, addSealedGrant } from '../../../tests/support/server/core/grant-sample.ts'
import { sampleKey } from '../../../tests/support/server/core/keeper-fixture.ts'
import { type FakeRuntime, createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import {
  createRotatingProvider,
  providerIssuer,
  type RotatingProvider,
} from '../../../tests/support/server/core/rotating-provider.ts'
import type { StoredProviderSession } from './grant.ts'
import { type ResealCounts, type ResealPorts, resealSessions } from './reseal.ts'
import { createSealer, type KeyRing, type Sealer, type SealingKey, sealingKeyOf } from '../seal.ts'
import { SessionKeeper } from './session-keeper.ts'
import { openProviderSession, sealProviderSession } from './session-seal.ts'
import { SignOutWorker } from './sign-out-worker.ts'
import type { Store } from '../store.ts'

const [oldKey, newKey, lostKey] = [sampleKey('old', 1), sampleKey('new', 2), sampleKey('lost', 3)]

let runtime: FakeRuntime
let store: Store
let sealer: Sealer

beforeEach(() => {
  runtime = createFakeRuntime(start)
  store = openMemoryStore()
  sealer = sealerOf(newKey, oldKey)
})

function sealerOf(...keys: readonly SealingKey[]): Sealer {
  const ring: KeyRing = { keys: () => keys, refresh: () => {} }
  return createSealer(ring, runtime.randomBytes)
}

/** Creates a grant whose session is sealed with `key`. */
const connect = (name: string, key: SealingKey, session: object = {}): Promise<StoredProviderSession> =>
  addSealedGrant(store, sealerOf(key), name, { issuer: providerIssuer, ...session })

function reseal(overrides: Partial<ResealPorts> = {}): Promise<ResealCounts> {
  return resealSessions({ store, sealer, kid: 'new', runtime, owner: 'reseal', ...overrides })
}

async function stored(name: string): Promise<StoredProviderSession> {
  const session = await store.findProviderSession(`grant ${name}`)
  if (!session) throw new Error('The grant has ended.')
  return session
}

const none: ResealCounts = { resealed: 0, skipped: 0, unsettled: 0, unreadable: 0 }
const lease = (name: string, owner: string, now = start) =>
  store.leaseProviderSession({ grantId: `grant ${name}`, version: 1, owner, until: now + 15 }, now)

describe('a session sealed with another key', () => {
  it('a session sealed with another key is re-encrypted as its next version, with all its members', async () => {
    const session = { accessToken: 'access', refreshToken: 'refresh', expiresAt: start + 3600, idToken: 'id' }
    const before = await connect('a', oldKey, session)
    expect(await reseal()).toEqual({ ...none, resealed: 1 })
    const after = await stored('a')
    expect(sealingKeyOf(after.sealed)).toBe('new')
    expect({ ...after, sealed: '' }).toEqual({ ...before, sealed: '', version: 2 })
    expect(openProviderSession(after, sealerOf(newKey))).toEqual({ ...session, issuer: providerIssuer })
    expect(await store.listSealingKeys()).toEqual(['new'])
  })

  it('re-encryption visits sessions of any age and any older key, on every page', async () => {
    for (let n = 0; n < 450; n += 1) await connect(`${n}`, n % 3 === 0 ? newKey : oldKey)
    expect(await reseal()).toEqual({ ...none, resealed: 300 })
    expect(await reseal()).toEqual(none)
  })

  it('a session sealed with the first key is left alone', async () => {
    const before = await connect('a', newKey)
    expect(await reseal()).toEqual(none)
    expect(await stored('a')).toEqual(before)
  })

  it('a session that no key opens is left unchanged, and the others are re-encrypted', async () => {
    const before = await connect('a', lostKey)
    await connect('b', oldKey)
    expect(await reseal()).toEqual({ ...none, resealed: 1, unreadable: 1 })
    expect(await stored('a')).toEqual(before)
    expect(await lease('a', 'server')).toEqual({ kind: 'leased', attempt: 1 })
  })
})

describe('a session that another instance is using', () => {
  it('a session that another instance leases is skipped, and re-encrypted in the next round', async () => {
    const before = await connect('a', oldKey)
    await lease('a', 'server')
    expect(await reseal()).toEqual({ ...none, skipped: 1 })
    expect(await stored('a')).toEqual(before)
    await store.releaseProviderSession({ grantId: 'grant a', owner: 'server', outcomeKnown: true })
    expect(await reseal()).toEqual({ ...none, resealed: 1 })
  })

  it('a session whose refresh never ended is not re-encrypted, as a server may have newer tokens', async () => {
    const before = await connect('a', oldKey)
    await lease('a', 'server')
    runtime.advance(15)
    for (const _ of [1, 2]) expect(await reseal()).toEqual({ ...none, unsettled: 1 })
    expect(await stored('a')).toEqual(before)
    // Re-sealing leases do not count as attempts.
    expect(await lease('a', 'other', start + 15)).toEqual({ kind: 'leased', attempt: 2 })
  })

  it('a session is not re-encrypted late in the lease', async () => {
    const before = await connect('a', oldKey)
    const slow: Store = {
      ...store,
      async leaseProviderSession(given, now) {
        const result = await store.leaseProviderSession(given, now)
        runtime.advance(6)
        return result
      },
    }
    expect(await reseal({ store: slow })).toEqual({ ...none, skipped: 1 })
    expect(await stored('a')).toEqual(before)
    expect(await reseal()).toEqual({ ...none, resealed: 1 })
  })

  it('a session that was refreshed in spite of the lease is not overwritten', async () => {
    await connect('a', oldKey)
    const fresh = {
      issuer: providerIssuer,
      accessToken: 'fresh',
      refreshToken: 'fresh',
      expiresAt: start + 7200,
    }
    const row = { grantId: 'grant a', version: 2, issuedAt: start }
    const raced: Store = {
      ...store,
      async leaseProviderSession(given, now) {
        const result = await store.leaseProviderSession(given, now)
        await store.saveProviderSession(sealProviderSession(fresh, row, sealer))
        return result
      },
    }
    expect(await reseal({ store: raced })).toEqual({ ...none, skipped: 1 })
    expect(openProviderSession(await stored('a'), sealer)).toEqual(fresh)
  })

  it('a session that waits for its sign-out is re-encrypted, and then signed out', async () => {
    await connect('a', oldKey)
    await store.endGrant('grant a', 'code_reuse', start)
    expect(await reseal()).toEqual({ ...none, skipped: 1 })
    expect(await reseal()).toEqual(none)
    const [pending] = await dueSignOuts(store, start)
    expect(sealingKeyOf(pending?.sealed ?? '')).toBe('new')
    const signedOut: string[] = []
    const worker = new SignOutWorker({
      store,
      provider: {
        signOut: async ({ accessToken }) => void signedOut.push(accessToken),
        refresh: () => Promise.reject(new Error('It lives.')),
      },
      providerIssuer,
      sealer,
      runtime,
      report: () => {},
    })
    await worker.run()
    expect(signedOut).toEqual(['access a'])
  })
})

it('a round of re-encryption stops on request, and the next one continues', async () => {
  for (let n = 0; n < 200; n += 1) await connect(`${n}`, oldKey)
  let batches = 0
  const first = await reseal({ isStopped: () => ++batches > 2 })
  expect(first.resealed).toBeGreaterThan(0)
  expect(first.resealed).toBeLessThan(200)
  expect(await reseal()).toEqual({ ...none, resealed: 200 - first.resealed })
})

/** Creates two servers with the old ring or the new one, on one grant at a strict provider, with a scripted store. */
function createRace(
  between: <Args extends unknown[], Result>(
    work: (...args: Args) => Promise<Result>,
  ) => (...args: Args) => Promise<Result>,
): {
  provider: RotatingProvider
  slowStore: Store
  keepers: readonly SessionKeeper[]
} {
  const provider = createRotatingProvider(runtime, { strict: true })
  const slowStore: Store = {
    ...store,
    findProviderSession: between(store.findProviderSession),
    leaseProviderSession: between(store.leaseProviderSession),
    releaseProviderSession: between(store.releaseProviderSession),
    saveProviderSession: between(store.saveProviderSession),
    listSessionsSealedWith: between(store.listSessionsSealedWith),
  }
  const keepers = ['one', 'two'].map(
    (owner) =>
      new SessionKeeper({
        store: slowStore,
        provider: { ...provider, refresh: between(provider.refresh) },
        providerIssuer,
        sealer: owner === 'one' ? sealerOf(oldKey, newKey) : sealer,
        runtime: { now: runtime.now, sleep: between(async () => {}) },
        owner,
        checkSeconds: undefined,
        report: () => {},
      }),
  )
  return { provider, slowStore, keepers }
}

it('re-encryption loses no session next to refreshing servers, in any order of events, even at a provider without reuse intervals', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.nat({ max: 1 }), { minLength: 1, maxLength: 4 }),
      fc.nat({ max: 2 }),
      fc.constantFrom(3590, 3600),
      async (scheduler, callers, rounds, age) => {
        runtime = createFakeRuntime(start)
        store = openMemoryStore()
        sealer = sealerOf(newKey, oldKey)
        const { provider, slowStore, keepers } = createRace((work) => {
          const scheduled = scheduler.scheduleFunction(async () => {})
          // Something else may happen before the operation, and before its result arrives.
          return async (...args) => {
            await scheduled()
            const result = await work(...args)
            await scheduled()
            return result
          }
        })
        const session = await connect('a', oldKey, provider.signedIn())
        runtime.advance(age)
        const serving = callers.map((server) => (keepers[server] as SessionKeeper).keep(session))
        const sealing = Array.from({ length: rounds + 1 }, (_, n) =>
          reseal({ store: slowStore, owner: `reseal ${n}` }),
        )
        const [kept] = await scheduler.waitFor(Promise.all([Promise.all(serving), Promise.all(sealing)]))

        expect(provider.active()).toBeDefined()
        // A token with ten seconds left need not be refreshed while another owner works on it.
        expect(provider.rotations()).toBeLessThanOrEqual(1)
        if (age === 3600) expect(provider.rotations()).toBe(1)
        for (const answer of kept) expect(answer.kind).toBe('live')
        await reseal()
        const last = await stored('a')
        expect(openProviderSession(last, sealerOf(newKey))?.refreshToken).toBe(provider.active())
        expect(await store.listSealingKeys()).toEqual(['new'])
      },
    ),
    { numRuns: 300 },
  )
})
