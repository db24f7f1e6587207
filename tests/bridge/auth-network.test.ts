import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import {
  type AuthScene,
  burst,
  call,
  echoes,
  inAuthScene,
  textOf,
  visit,
} from '../support/bridge/sign-in/auth-scene.ts'
import { until } from '../support/until.ts'

const slowMs = 400

/** Resets every connection while the next request of that path is being answered. */
async function cutDuring({ remote }: AuthScene, path: string): Promise<void> {
  const before = remote.counters.requests[path] ?? 0
  remote.set({ delayMs: slowMs })
  await until(() => (remote.counters.requests[path] ?? 0) > before, path)
  remote.dropConnections()
  remote.set({ delayMs: 0 })
}

/** Signs in as a person does who is not put off: opens the newest link, and asks for another one if it comes to that. */
async function signInSomehow(bridge: BridgeProcess): Promise<void> {
  await until(async () => {
    const text = textOf(await bridge.request('tools/call', { name: 'sign_in', arguments: {} }))
    if (text.startsWith('Signed in')) return true
    const link = bridge.links().at(-1)
    if (link !== undefined) await visit(link).catch(() => undefined)
    return false
  }, 'a sign-in')
}

describe('a connection that breaks', { concurrent: true, timeout: 60_000 }, () => {
  it.each(['POST /mcp', 'GET /.well-known/oauth-authorization-server', 'POST /register'])(
    'once in the first sign-in, at %s',
    (path) =>
      inAuthScene({}, async (scene) => {
        const bridge = scene.bridge()
        const cut = cutDuring(scene, path)
        const opened = bridge.open()
        await cut
        expect(await opened).toHaveProperty('result')
        const first = call(bridge)
        await signInSomehow(bridge)
        expect(await first).toMatch(/clientId|^failed: /)
        expect(await burst(bridge, 5)).toEqual(echoes(5))
        expect(scene.remote.counters.codeGrants).toBe(1)
        expect(scene.remote.counters.registrations).toBeLessThanOrEqual(2)
        expect(scene.links()).toBeLessThanOrEqual(2)
      }),
  )

  it.each([
    ['before it is done', false, 0],
    ['after it was done', true, 60],
  ])(
    'in a refresh, %s (answer lost: %s, reuse grace %i s): nobody signs in',
    (_when, tokenAnswerLost, graceSeconds) =>
      inAuthScene(
        { graceSeconds, tokenAnswerLost, tokenFault: 'reset', tokenFaultTimes: 1 },
        async (scene) => {
          await scene.signedIn({ agoSeconds: 4000 })
          const bridges = [scene.bridge(), scene.bridge()]
          for (const bridge of bridges)
            await until(async () => 'result' in (await bridge.open()), 'an opening')
          expect(await Promise.all(bridges.map((bridge) => burst(bridge, 5)))).toEqual([echoes(5), echoes(5)])
          expect(scene.remote.counters).toMatchObject({ refreshesOk: 1, refreshesReused: 0, tabs: 0 })
          expect(scene.links()).toBe(0)
        },
      ),
  )
})
