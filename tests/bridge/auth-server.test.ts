import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import {
  type AuthScene,
  burst,
  call,
  echoes,
  inAuthScene,
  visit,
} from '../support/bridge/sign-in/auth-scene.ts'

async function warm(scene: AuthScene, count = 1): Promise<BridgeProcess[]> {
  await scene.signedIn()
  const bridges = await scene.opened(count)
  await Promise.all(bridges.map((bridge) => call(bridge)))
  await Promise.all(bridges.map((bridge) => bridge.request('tools/list')))
  scene.remote.resetCounters()
  return bridges
}

describe('an authorization server that has forgotten', { concurrent: true, timeout: 60_000 }, () => {
  it.each<[what: string, forget: (scene: AuthScene) => void, registrations: number]>([
    ['the grants', ({ remote }) => remote.revokeGrants(), 0],
    ['the client', ({ remote }) => remote.forgetClients(), 1],
  ])('%s costs one sign-in, at the first start', (_what, forget, registrations) =>
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

  it('the scope of a tool asks for that scope, once', () =>
    inAuthScene({}, async (scene) => {
      const [bridge] = (await warm(scene)) as [BridgeProcess]
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
