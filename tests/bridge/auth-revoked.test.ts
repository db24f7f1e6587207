import { setTimeout as delay } from 'node:timers/promises'
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

const times = 5

/** Starts bridges of one signed-in user, each of which has made a call, so that later calls are not its first. */
async function warm(scene: AuthScene, count: number): Promise<BridgeProcess[]> {
  await scene.signedIn()
  const bridges = await scene.opened(count)
  await Promise.all(bridges.map((bridge) => call(bridge)))
  scene.remote.resetCounters()
  return bridges
}

async function allCalls(bridges: readonly BridgeProcess[]): Promise<void> {
  const answers = await Promise.all(bridges.map((bridge) => burst(bridge, times)))
  expect(answers).toEqual(bridges.map(() => echoes(times)))
}

/** What may have happened at the authorization server when the refresh token was good. */
function expectRefreshes({ remote, links }: AuthScene, count: number): void {
  expect(remote.counters).toMatchObject({
    refreshesOk: count,
    refreshesReplayed: 0,
    refreshesReused: 0,
    refreshesRefused: 0,
    tabs: 0,
    codeGrants: 0,
  })
  expect(links()).toBe(0)
}

describe('access tokens that are revoked under way', { concurrent: true, timeout: 60_000 }, () => {
  it('four bridges with 5 calls each all succeed with one refresh when their tokens are revoked', () =>
    inAuthScene({ tokenDelayMs: 200 }, async (scene) => {
      const bridges = await warm(scene, 4)
      scene.remote.revokeAccessTokens()
      await allCalls(bridges)
      expectRefreshes(scene, 1)
      await allCalls(bridges)
      expectRefreshes(scene, 1)
    }))

  it('calls that came through are not repeated when tokens are revoked under way', () =>
    inAuthScene({ delayMs: 50 }, async (scene) => {
      const bridges = await warm(scene, 3)
      const going = bridges.flatMap((bridge, index) =>
        Array.from({ length: times }, async (_, turn) => {
          await delay(turn * 25)
          return call(bridge, 'slow', { ms: 100, key: `${index}-${turn}` })
        }),
      )
      await delay(90)
      scene.remote.revokeAccessTokens()
      expect(await Promise.all(going)).toEqual(going.map(() => 'done'))
      expect(Object.values(scene.remote.counters.calls)).toEqual(going.map(() => 1))
      expect(scene.remote.counters.unauthorized).toBeGreaterThan(0)
      expectRefreshes(scene, 1)
    }))

  it('bridges recover from a restart of the server that has lost tokens and sessions', () =>
    inAuthScene({}, async (scene) => {
      const bridges = await warm(scene, 2)
      for (let round = 1; round <= 2; round += 1) {
        await scene.remote.stop()
        scene.remote.revokeAccessTokens()
        scene.remote.dropSessions()
        await scene.remote.start()
        await allCalls(bridges)
        expectRefreshes(scene, round)
      }
    }))
})

describe('access tokens that have ended', { concurrent: true, timeout: 60_000 }, () => {
  it('tokens whose renewal the server no longer allows cost one link for all bridges', () =>
    inAuthScene({}, async (scene) => {
      await scene.signedIn({ agoSeconds: 4000 })
      scene.remote.revokeGrants()
      const bridges = await scene.opened(3)
      const held = Promise.all(bridges.map((bridge) => bridge.request('tools/list')))
      const [link = ''] = await Promise.all(bridges.map((bridge) => bridge.link()))
      await visit(link)
      for (const answer of await held) expect(textOf(answer)).not.toContain('error')
      expect(scene.links()).toBe(1)
      expect(scene.remote.counters).toMatchObject({ refreshesRefused: 1, codeGrants: 1, registrations: 0 })
    }))
})

describe('an authorization server that has forgotten', { concurrent: true, timeout: 60_000 }, () => {
  it.each<[what: string, forget: (scene: AuthScene) => void, registrations: number]>([
    ['the grants', ({ remote }) => remote.revokeGrants(), 0],
    ['the client', ({ remote }) => remote.forgetClients(), 1],
  ])(
    'an authorization server that has forgotten %s costs one sign-in, at the first start',
    (_what, forget, registrations) =>
      inAuthScene({}, async (scene) => {
        await scene.signedIn({ agoSeconds: 4000 })
        forget(scene)
        const [bridge] = (await scene.opened(1)) as [BridgeProcess]
        const held = burst(bridge, 5)
        expect((await visit(await bridge.link())).status).toBe(200)
        expect(await held).toEqual(echoes(5))
        expect(scene.links()).toBe(1)
        expect(scene.remote.counters).toMatchObject({ registrations, codeGrants: 1 })
        expect(scene.remote.counters.requests['POST /token']).toBe(2)
      }),
  )

  it('a call of a tool that needs another scope asks for that scope, once', () =>
    inAuthScene({}, async (scene) => {
      const [bridge] = (await warm(scene, 1)) as [BridgeProcess]
      const held = call(bridge, 'admin')
      const link = await bridge.link()
      expect(new URL(link).searchParams.get('scope')?.split(' ')).toEqual(
        expect.arrayContaining(['mcp', 'mcp:admin']),
      )
      await visit(link)
      expect(await held).toBe('you may')
      expect(await call(bridge)).toContain('mcp:admin')
      expect(scene.links()).toBe(1)
    }))
})
