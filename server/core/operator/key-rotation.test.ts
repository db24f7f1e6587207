import { beforeEach, describe, expect, it } from 'vitest'
import { createSealer, type KeyRing, type SealingKey } from '../seal.ts'
import type { Store } from '../store.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start, addSealedGrant } from '../../../tests/support/server/core/grant-sample.ts'
import { sampleKey, storeIsDown } from '../../../tests/support/server/core/keeper-fixture.ts'
import { rotateKeyRing } from './key-rotation.ts'

type RotationPorts = Parameters<typeof rotateKeyRing>[0]

const [oldKey, newKey, newerKey] = [sampleKey('old', 1), sampleKey('new', 2), sampleKey('newer', 3)]

let runtime: FakeRuntime
let store: Store
let notes: string[]
beforeEach(() => {
  runtime = createFakeRuntime(start)
  store = openMemoryStore()
  notes = []
})

function ringOf(...keys: readonly SealingKey[]): KeyRing {
  return { keys: () => keys, refresh: () => {} }
}

const connect = (name: string, key: SealingKey): Promise<unknown> =>
  addSealedGrant(store, createSealer(ringOf(key), runtime.randomBytes), name)

async function reseal(overrides: Partial<RotationPorts> = {}) {
  const note = (text: string): void => void notes.push(text)
  const { resealed, unsettled, unreadable, left, interrupted } = await rotateKeyRing({
    store,
    ring: ringOf(newKey, oldKey),
    runtime,
    note,
    isStopped: () => false,
    ...overrides,
  })
  return { resealed, unsettled, unreadable, left, interrupted }
}

describe('rounds of re-sealing', () => {
  it('re-sealing ends when nothing is left and every server has noticed the key', async () => {
    await connect('a', oldKey)
    await connect('b', newKey)
    expect(await reseal()).toEqual({ resealed: 1, unsettled: 0, unreadable: 0, left: 0, interrupted: false })
    expect(runtime.now() - start).toBeGreaterThanOrEqual(2)
    expect(runtime.now() - start).toBeLessThan(5)
  })

  it('re-sealing gives up after a minute without progress', async () => {
    await connect('a', oldKey)
    const until = start + 100_000
    await store.leaseProviderSession({ grantId: 'grant a', version: 1, owner: 'server', until }, start)
    let naps = 0
    const sleep = async (ms: number): Promise<void> => {
      naps += 1
      if (naps === 50) await connect('late', oldKey)
      await runtime.sleep(ms)
    }
    expect(await reseal({ runtime: { ...runtime, sleep } })).toMatchObject({ resealed: 1, left: 1 })
    expect(runtime.now() - start).toBeGreaterThanOrEqual(110)
    expect(runtime.now() - start).toBeLessThan(115)
  })

  it('re-sealing retries a store that is briefly down, and says so', async () => {
    await connect('a', oldKey)
    let calls = 0
    const shaky: Store = {
      ...store,
      listSealingKeys: () => (++calls <= 3 ? storeIsDown() : store.listSealingKeys()),
    }
    expect(await reseal({ store: shaky })).toMatchObject({ resealed: 1, left: 0 })
    expect(notes.filter((note) => note === 'The store is down. Trying again.')).toHaveLength(3)
  })

  it('re-sealing passes on other errors', async () => {
    const broken: Store = { ...store, listSealingKeys: () => Promise.reject(new TypeError('mistake')) }
    await expect(reseal({ store: broken })).rejects.toThrow('mistake')
  })

  it('re-sealing follows a key that is added at the front meanwhile', async () => {
    await connect('a', oldKey)
    let keys: readonly SealingKey[] = [newKey, oldKey]
    let refreshed = 0
    const ring: KeyRing = {
      keys: () => keys,
      refresh() {
        refreshed += 1
        if (refreshed === 2) keys = [newerKey, newKey, oldKey]
      },
    }
    expect(await reseal({ ring })).toMatchObject({ resealed: 2, left: 0 })
    expect(await store.listSealingKeys()).toEqual(['newer'])
  })

  it('re-sealing stops when told to', async () => {
    await connect('a', oldKey)
    expect(await reseal({ isStopped: () => true })).toMatchObject({ resealed: 0, interrupted: true })
    expect(await store.listSealingKeys()).toEqual(['old'])
  })
})

describe('a rotation of the ring', () => {
  const rotate = (
    overrides: Partial<RotationPorts> = {},
    addEntry?: Parameters<typeof rotateKeyRing>[1],
  ): ReturnType<typeof rotateKeyRing> => {
    const ports = { store, ring: ringOf(newKey, oldKey), runtime, note: () => {}, isStopped: () => false }
    return rotateKeyRing({ ...ports, ...overrides }, addEntry)
  }

  it('a rotation is ok when every session is sealed with the first key', async () => {
    await connect('a', oldKey)
    expect(await rotate()).toMatchObject({ ok: true, sealing_key: 'new', added: undefined, resealed: 1 })
    expect((await rotate()).removable_at).toBeGreaterThan(runtime.now())
  })

  it.each<[what: string, overrides: Partial<RotationPorts>, key: SealingKey, fact: object]>([
    ['a session that no key opens', {}, newerKey, { unreadable: 1 }],
    ['an interruption', { isStopped: () => true }, oldKey, { interrupted: true }],
  ])('a rotation is not ok after %s', async (_what, overrides, key, fact) => {
    await connect('a', key)
    expect(await rotate(overrides)).toMatchObject({ ok: false, ...fact })
  })

  it('a rotation is not ok while a server holds a session', async () => {
    await connect('a', oldKey)
    const until = start + 100_000
    await store.leaseProviderSession({ grantId: 'grant a', version: 1, owner: 'server', until }, start)
    expect(await rotate()).toMatchObject({ ok: false, left: 1 })
  })

  it('a rotation adds the new entry before anything is sealed', async () => {
    const entries: string[] = []
    let keys: readonly SealingKey[] = [oldKey]
    const ring: KeyRing = {
      keys: () => keys,
      refresh: () => void (entries.length > 0 && (keys = [newKey, oldKey])),
    }
    await connect('a', oldKey)
    const facts = await rotate({ ring }, (entry, kid) => void entries.push(entry, kid))
    expect(entries).toEqual([expect.stringMatching(/^k\d{8}-[0-9a-f]{6}:[A-Za-z0-9+/]{43}=$/), facts.added])
    expect(facts).toMatchObject({ ok: true, sealing_key: 'new', resealed: 1 })
  })
})
