import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import { underLoad } from '../support/under-load.ts'
import { type AuthScene, burst, call, echoes, inAuthScene } from '../support/bridge/sign-in/auth-scene.ts'
import { until } from '../support/until.ts'

const clock = new URL('../support/other-clock.ts', import.meta.url).href
const hours = 3600

/** What a bridge is started with whose clock is wrong by so many seconds, and can be made to jump. */
function clockOf(seconds: { ahead?: number; jump?: number }): Record<string, string> {
  return {
    NODE_OPTIONS: `--import ${clock}`,
    CLOCK_AHEAD_SECONDS: String(seconds.ahead ?? 0),
    CLOCK_JUMP_SECONDS: String(seconds.jump ?? 0),
  }
}

/** Bridges with clocks, which have all called once. */
async function warm(scene: AuthScene, clocks: readonly Record<string, string>[]): Promise<BridgeProcess[]> {
  await scene.signedIn()
  const bridges = clocks.map((environment) => scene.bridge({ environment }))
  await Promise.all(bridges.map((bridge) => bridge.open()))
  await Promise.all(bridges.map((bridge) => call(bridge)))
  return bridges
}

function expectNobodySignedIn({ remote, links }: AuthScene, maxRefreshes: number): void {
  expect(remote.counters).toMatchObject({ refreshesReused: 0, refreshesRefused: 0, tabs: 0 })
  expect(remote.counters.refreshesOk).toBeLessThanOrEqual(maxRefreshes)
  expect(links()).toBe(0)
}

/** Resolves when the bridges have seen it: a jump ahead looks like a sleep, which calls that are under way do not outlive. */
async function jump(bridges: readonly BridgeProcess[]): Promise<void> {
  for (const bridge of bridges) bridge.signal('SIGUSR2')
  await delay(underLoad(750))
}

describe('a clock', { concurrent: true, timeout: 60_000 }, () => {
  it.each([
    ['back', -2 * hours, 0],
    ['ahead by a year', 8760 * hours, 1],
  ])('that jumps %s costs no call and at most one refresh, for three bridges', (_where, seconds, refreshes) =>
    inAuthScene({}, async (scene) => {
      const bridges = await warm(
        scene,
        [1, 2, 3].map(() => clockOf({ jump: seconds })),
      )
      await jump(bridges)
      for (let round = 0; round < 2; round += 1) {
        const answers = await Promise.all(bridges.map((bridge) => burst(bridge, 5)))
        expect(answers).toEqual(bridges.map(() => echoes(5)))
      }
      expectNobodySignedIn(scene, refreshes)
    }),
  )

  it('that jumps in the middle of a refresh does not make another bridge refresh too', () =>
    inAuthScene({ tokenDelayMs: 4000 }, async (scene) => {
      const [first, second] = (await warm(scene, [clockOf({}), clockOf({ jump: 2 * hours })])) as [
        BridgeProcess,
        BridgeProcess,
      ]
      scene.remote.revokeAccessTokens()
      const going = burst(first, 5)
      await until(() => scene.remote.counters.requests['POST /token'] === 1, 'a refresh')
      await jump([second])
      const others = burst(second, 5)
      expect(await going).toEqual(echoes(5))
      expect(await others).toEqual(echoes(5))
      // For the one whose clock is ahead the new token has ended as well; it may ask for another.
      expectNobodySignedIn(scene, 2)
    }))

  it('that is ten years behind from the start is no reason to sign in', () =>
    inAuthScene({}, async (scene) => {
      const bridges = await warm(scene, [clockOf({ ahead: -87_600 * hours }), clockOf({})])
      for (let round = 0; round < 3; round += 1) {
        const answers = await Promise.all(bridges.map((bridge) => burst(bridge, 3)))
        expect(answers).toEqual(bridges.map(() => echoes(3)))
      }
      expectNobodySignedIn(scene, 3)
    }))
})
