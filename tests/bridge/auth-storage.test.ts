import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type AuthScene,
  burst,
  call,
  echoes,
  inAuthScene,
  textOf,
  visit,
} from '../support/bridge/sign-in/auth-scene.ts'

/** A place below the folder that the bridges of a scene share. */
function at({ home }: AuthScene, ...names: string[]): string {
  return join(home, '.drawbridge', 'credentials', ...names)
}

function recordOf(scene: AuthScene): string {
  return at(scene, 'records', `${scene.id}.json`)
}

const damages: readonly [what: string, damage: (scene: AuthScene) => void, says: RegExp][] = [
  [
    'a record with other bytes in it',
    (scene) =>
      writeFileSync(
        recordOf(scene),
        readFileSync(recordOf(scene), 'utf8').replace(/"ct":"..../, '"ct":"AAAA'),
      ),
    /drawbridge logout http/,
  ],
  ['another key', (scene) => writeFileSync(at(scene, 'key'), 'A'.repeat(43)), /logout --all/],
]

describe('stored logins that are damaged', { concurrent: true, timeout: 60_000 }, () => {
  it.each(damages)(
    'stored logins with %s are reported with the reason and the next step, without a tab, and nothing is overwritten',
    (_what, damage, says) =>
      inAuthScene({}, async (scene) => {
        await scene.signedIn()
        damage(scene)
        const before = everything(scene)
        const bridge = scene.bridge()
        expect(textOf(await bridge.open())).toMatch(says)
        expect(await call(bridge)).toMatch(says)
        expect(scene.links()).toBe(0)
        expect(everything(scene)).toBe(before)
      }),
  )
})

describe('stored logins that are gone', { concurrent: true, timeout: 60_000 }, () => {
  it('a logout elsewhere makes the running bridges ask for one sign-in', () =>
    inAuthScene({}, async (scene) => {
      await scene.signedIn()
      const bridges = await scene.opened(2)
      await Promise.all(bridges.map((bridge) => call(bridge)))
      expect(await scene.command('logout').ended).toBe(0)
      expect(scene.remote.counters.revocations).toBeGreaterThan(0)
      const held = Promise.all(bridges.map((bridge) => burst(bridge, 3)))
      const [link = ''] = await Promise.all(bridges.map((bridge) => bridge.link()))
      await visit(link)
      expect(await held).toEqual([echoes(3), echoes(3)])
      expect(scene.links()).toBe(1)
    }))
})

function everything(scene: AuthScene): string {
  return readdirSync(at(scene), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.name}: ${readFileSync(join(entry.parentPath, entry.name), 'utf8')}`)
    .sort()
    .join('\n')
}
