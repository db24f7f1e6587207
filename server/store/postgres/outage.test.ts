import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Store } from '../../core/store.ts'
import { StoreUnavailableError } from '../../core/store-unavailable.ts'
import {
  addGrant,
  grantSample,
  nextSession,
  rotationTerms,
  sessionSample,
  start,
  successorSample,
} from '../../../tests/support/server/core/grant-sample.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { openPostgresStore } from './postgres.ts'

const chains = 24
const again = rotationTerms(start)

let server: PostgresServer
let stores: Store[]
let isOver: boolean
beforeEach(async () => {
  server = await startPostgres()
  const url = await server.createDatabase()
  stores = [openPostgresStore(url), openPostgresStore(url)]
})
afterEach(async () => {
  isOver = true
  await Promise.all(stores.map((store) => store.close()))
  await server.close()
})

/** One connection that is refreshed constantly, and its acknowledged state. */
interface Chain {
  name: string
  /** The newest refresh token whose rotation was acknowledged, and the previous one. */
  step: number
  version: number
  attempts: { outcome: 'done' | 'unavailable'; milliseconds: number }[]
}

/** Refreshes until told to stop; repeats what failed, as clients and instances do. */
async function refresh(chain: Chain, isOver: () => boolean): Promise<void> {
  for (let turn = 0; !isOver(); turn += 1) {
    const store = stores[turn % 2] as Store
    const began = performance.now()
    try {
      await rotateOnce(store, chain)
      await saveOnce(store, chain)
      chain.attempts.push({ outcome: 'done', milliseconds: performance.now() - began })
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnavailableError)
      chain.attempts.push({ outcome: 'unavailable', milliseconds: performance.now() - began })
      await delay(10)
    }
  }
}

const tokenOf = ({ name, step }: Chain): string => `refresh ${name} ${step}`

async function rotateOnce(store: Store, chain: Chain): Promise<void> {
  const successor = successorSample(`${chain.name} ${chain.step + 1}`)
  const rotation = await store.rotateRefreshToken(tokenOf(chain), successor, again)
  // Replayed: it had taken effect without acknowledgement.
  expect(['rotated', 'replayed']).toContain(rotation.kind)
  chain.step += 1
}

async function saveOnce(store: Store, chain: Chain): Promise<void> {
  const session = { ...sessionSample(`grant ${chain.name}`, ''), version: chain.version }
  const saved = await store.saveProviderSession(nextSession(session))
  // False: this exact version is stored, without acknowledgement.
  if (!saved) expect((await store.findProviderSession(session.grantId))?.version).toBe(chain.version + 1)
  chain.version += 1
}

const until = (condition: () => boolean): Promise<void> =>
  expect.poll(condition, { timeout: 20_000, interval: 20 }).toBe(true)

it.each([
  ['is stopped', 'stop'],
  ['is killed', 'kill'],
] as const)(
  'a database that %s under load: unavailable meanwhile, then service, and nothing acknowledged is lost',
  async (_what, how) => {
    const all = Array.from({ length: chains }, (_, index): Chain => ({
      name: `chain ${index}`,
      step: 1,
      version: 1,
      attempts: [],
    }))
    await Promise.all(all.map(({ name }, index) => addGrant(stores[index % 2] as Store, grantSample(name))))
    isOver = false
    const load = Promise.all(all.map((chain) => refresh(chain, () => isOver)))
    load.catch(() => {})
    const counts = (outcome: string): number[] =>
      all.map(({ attempts }) => attempts.filter((attempt) => attempt.outcome === outcome).length)

    for (let round = 1; round <= 2; round += 1) {
      const done = counts('done')
      const failed = counts('unavailable')
      await until(() => counts('done').every((count, index) => count > (done[index] ?? 0)))
      await server[how]()
      await until(() => counts('unavailable').every((count, index) => count > (failed[index] ?? 0)))
      await server.start()
    }
    const served = counts('done')
    await until(() => counts('done').every((count, index) => count > (served[index] ?? 0)))
    isOver = true
    await load

    for (const chain of all) {
      const { name, step, version, attempts } = chain
      expect(Math.max(...attempts.map(({ milliseconds }) => milliseconds))).toBeLessThan(9000)
      const [store] = stores as [Store]
      expect((await store.findRefreshToken(tokenOf(chain)))?.endReason).toBeUndefined()
      expect((await store.findProviderSession(`grant ${name}`))?.version).toBe(version)
      // All instances agree: each acknowledged token but the last has exactly its successor.
      for (let earlier = Math.max(1, step - 3); earlier < step; earlier += 1) {
        const rotation = await store.rotateRefreshToken(
          `refresh ${name} ${earlier}`,
          successorSample('x'),
          again,
        )
        expect(rotation).toMatchObject({
          kind: 'replayed',
          sealedTokens: `sealed pair ${name} ${earlier + 1}`,
        })
      }
    }
  },
  60_000,
)
