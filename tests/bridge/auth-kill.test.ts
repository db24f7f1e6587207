import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import { type AuthScene, burst, echoes, inAuthScene, visit } from '../support/bridge/sign-in/auth-scene.ts'
import { until } from '../support/until.ts'

const killed = 'SIGKILL'
const replaySeconds = 120

/** A moment of a refresh that can be told from outside. */
interface Moment {
  name: string
  /** Makes the moment last. */
  hold(scene: AuthScene): void
  isReached(scene: AuthScene): unknown
  /** Ends that. */
  release(scene: AuthScene): void
}

const moments: readonly Moment[] = [
  {
    name: 'written down, and the request is under way',
    hold: ({ remote }) => remote.set({ delayMs: 500 }),
    isReached: async ({ store, id }) => (await store.read(id))?.pendingRefresh !== undefined,
    release: ({ remote }) => remote.set({ delayMs: 0 }),
  },
  {
    name: 'sent, and nothing was done about it',
    hold: ({ remote: { counters, set } }) =>
      set({ handle: ({ path }) => path === '/token' && counters.requests['POST /token'] === 1 }),
    isReached: ({ remote }) => remote.counters.requests['POST /token'] === 1,
    release: () => {},
  },
  {
    name: 'rotated, and the answer is under way',
    hold: ({ remote }) => remote.set({ tokenDelayMs: 20_000 }),
    isReached: ({ remote }) => remote.counters.refreshesOk === 1,
    release: ({ remote }) => remote.set({ tokenDelayMs: 0 }),
  },
  {
    name: 'stored, and never used',
    hold: () => {},
    isReached: async ({ store, id }) => ((await store.read(id))?.generation ?? 0) >= 3,
    release: () => {},
  },
]

/** Kills a bridge at that moment of a refresh; a second one continues from the store. */
async function killAt(scene: AuthScene, moment: Moment): Promise<void> {
  await scene.signedIn({ agoSeconds: 4000 })
  moment.hold(scene)
  const bridge = scene.bridge()
  void bridge.open()
  await until(() => moment.isReached(scene), moment.name)
  bridge.signal(killed)
  expect(await bridge.ended).toBe(killed)
  moment.release(scene)
}

describe('kill -9 in the middle of a refresh', { concurrent: true, timeout: 60_000 }, () => {
  it('bridges killed at any moment of a refresh cost no login at a server that replays: the next ones go on', async () => {
    await Promise.all(
      moments.map((moment) =>
        inAuthScene({ graceSeconds: replaySeconds }, async (scene) => {
          await killAt(scene, moment)
          const bridges = await scene.opened(2)
          const answers = await Promise.all(bridges.map((bridge) => burst(bridge, 5)))
          expect(answers, moment.name).toEqual([echoes(5), echoes(5)])
          const { counters } = scene.remote
          expect(counters, moment.name).toMatchObject({ refreshesOk: 1, refreshesReused: 0, tabs: 0 })
          expect((await scene.store.read(scene.id))?.pendingRefresh, moment.name).toBeUndefined()
          expect(scene.links(), moment.name).toBe(0)
        }),
      ),
    )
  })

  it('a bridge killed in a refresh at a strict server loses the successor: one link, no hang, and it works after one sign-in', () =>
    inAuthScene({ graceSeconds: 0 }, async (scene) => {
      const [, , rotated] = moments
      if (rotated === undefined) throw new Error('there is none')
      await killAt(scene, rotated)
      const next = scene.bridge()
      await next.open()
      const held = burst(next, 5)
      await visit(await next.link())
      expect(await held).toEqual(echoes(5))
      expect(scene.links()).toBe(1)
      expect(scene.remote.counters).toMatchObject({ codeGrants: 1, registrations: 0 })
    }))

  it('one bridge of three killed in a refresh costs the others no call', () =>
    inAuthScene({ graceSeconds: replaySeconds, tokenDelayMs: 500 }, async (scene) => {
      await scene.signedIn()
      const [victim, ...others] = await scene.opened(3)
      await Promise.all(others.map((bridge) => burst(bridge, 1)))
      scene.remote.revokeAccessTokens()
      void burst(victim as BridgeProcess, 5)
      await until(() => scene.remote.counters.refreshesOk === 1, 'a refresh')
      const going = others.map((bridge) => burst(bridge, 5))
      victim?.signal(killed)
      expect(await Promise.all(going)).toEqual([echoes(5), echoes(5)])
      expect(scene.remote.counters).toMatchObject({ refreshesOk: 1, refreshesReused: 0, tabs: 0 })
    }))
})
