import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { RemoteOptions } from '../support/remote/remote.ts'
import { type AuthScene, call, inAuthScene } from '../support/bridge/sign-in/auth-scene.ts'

const isLong = process.env['BRIDGE_LONG_TESTS'] === '1'
const durationMs = isLong ? 120_000 : 11_000
const timeout = durationMs + 30_000

/** Calls from each bridge, one every `everyMs`. Answers those that did not succeed. */
async function keepCalling(
  scene: AuthScene,
  { bridges, everyMs, forMs }: { bridges: number; everyMs: number; forMs: number },
): Promise<{ calls: number; failed: string[] }> {
  await scene.signedIn()
  const opened = await scene.opened(bridges)
  const going: Promise<string>[] = []
  for (const end = performance.now() + forMs; performance.now() < end; await delay(everyMs)) {
    for (const bridge of opened) going.push(call(bridge, 'echo', { text: 'here' }))
  }
  const answers = await Promise.all(going)
  return { calls: answers.length, failed: answers.filter((answer) => answer !== 'here') }
}

describe('tokens that do not live long', { concurrent: true, timeout }, () => {
  it.each<[what: string, options: RemoteOptions, maxPerLifetime: number]>([
    ['5 s, a slow token endpoint', { tokenTtlSeconds: 5, tokenDelayMs: 1000, graceSeconds: 0 }, 2],
    ['5 s, whose end nobody tells', { tokenTtlSeconds: 5, expiresIn: false }, 1],
  ])('of %s: every call succeeds, nobody signs in', (_what, options, maxPerLifetime) =>
    inAuthScene(options, async (scene) => {
      const { calls, failed } = await keepCalling(scene, { bridges: 3, everyMs: 200, forMs: durationMs })
      expect(failed).toEqual([])
      expect(calls).toBeGreaterThan((3 * durationMs) / 500)
      const lifetimes = durationMs / 1000 / (options.tokenTtlSeconds ?? 1)
      const { refreshesOk } = scene.remote.counters
      expect(refreshesOk).toBeGreaterThan(lifetimes / 2)
      expect(refreshesOk).toBeLessThanOrEqual(maxPerLifetime * lifetimes + 2)
      expect(scene.remote.counters).toMatchObject({ refreshesReused: 0, refreshesRefused: 0, tabs: 0 })
      expect(scene.links()).toBe(0)
    }),
  )
})
