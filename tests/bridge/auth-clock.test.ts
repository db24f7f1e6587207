import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import { underLoad } from '../support/under-load.ts'
import { type AuthScene, burst, call, echoes, inAuthScene } from '../support/bridge/sign-in/auth-scene.ts'

const clock = new URL('../support/other-clock.ts', import.meta.url).href
const hours = 3600

/** Three bridges whose clocks can be made to jump by so many seconds, and which have all called once. */
async function warm(scene: AuthScene, jumpSeconds: number): Promise<BridgeProcess[]> {
  await scene.signedIn()
  const environment = { NODE_OPTIONS: `--import ${clock}`, CLOCK_JUMP_SECONDS: String(jumpSeconds) }
  const bridges = [1, 2, 3].map(() => scene.bridge({ environment }))
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
      const bridges = await warm(scene, seconds)
      await jump(bridges)
      for (let round = 0; round < 2; round += 1) {
        const answers = await Promise.all(bridges.map((bridge) => burst(bridge, 5)))
        expect(answers).toEqual(bridges.map(() => echoes(5)))
      }
      expectNobodySignedIn(scene, refreshes)
    }),
  )
})
