import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import {
  type AuthScene,
  burst,
  call,
  echoes,
  inAuthScene,
  textOf,
  until,
  visit,
} from '../support/bridge/sign-in/auth-scene.ts'

/** A place below the folder that the bridges of a scene share. */
function at({ home }: AuthScene, ...names: string[]): string {
  return join(home.path, '.drawbridge', 'credentials', ...names)
}

function recordOf(scene: AuthScene): string {
  return at(scene, 'records', `${scene.id}.json`)
}

const damages: readonly [what: string, damage: (scene: AuthScene) => void, says: RegExp][] = [
  [
    'a record that is cut off',
    (scene) => writeFileSync(recordOf(scene), readFileSync(recordOf(scene), 'utf8').slice(0, 120)),
    /drawbridge logout http/,
  ],
  ['an empty record', (scene) => writeFileSync(recordOf(scene), ''), /drawbridge logout http/],
  [
    'a record with other bytes in it',
    (scene) =>
      writeFileSync(
        recordOf(scene),
        readFileSync(recordOf(scene), 'utf8').replace(/"ct":"..../, '"ct":"AAAA'),
      ),
    /drawbridge logout http/,
  ],
  [
    'a record of a later version',
    (scene) =>
      writeFileSync(recordOf(scene), readFileSync(recordOf(scene), 'utf8').replace('"v":1', '"v":2')),
    /newer Drawbridge/i,
  ],
  ['no key', (scene) => rmSync(at(scene, 'key')), /logout --all/],
  ['another key', (scene) => writeFileSync(at(scene, 'key'), 'A'.repeat(43)), /logout --all/],
  ['an index that is cut off', (scene) => writeFileSync(at(scene, 'index.json'), '{"version":1'), /logout/],
]

describe('what others have left behind', { concurrent: true, timeout: 60_000 }, () => {
  it.each([
    ['long ago', -3600],
    ['just now', 0],
    ['in the future', 3600],
  ])('a lock of %s does not hold a refresh for long', (_when, seconds) =>
    inAuthScene({}, async (scene) => {
      await scene.signedIn({ agoSeconds: 4000 })
      const lock = at(scene, 'locks', `${scene.id}.lock`)
      mkdirSync(lock, { recursive: true, mode: 0o700 })
      const touched = Date.now() / 1000 + seconds
      utimesSync(lock, touched, touched)
      const [bridge] = (await scene.opened(1)) as [BridgeProcess]
      expect(await burst(bridge, 3)).toEqual(echoes(3))
      expect(scene.remote.counters).toMatchObject({ refreshesOk: 1, tabs: 0 })
    }),
  )

  it('the link of a sign-in that was killed is shown by nobody any more: the next one has its own', () =>
    inAuthScene({}, async (scene) => {
      const [first] = (await scene.opened(1)) as [BridgeProcess]
      void call(first)
      const dead = await first.link()
      first.signal('SIGKILL')
      await first.ended
      const [bridge] = (await scene.opened(1)) as [BridgeProcess]
      const held = burst(bridge, 3)
      const link = await bridge.link()
      expect(link).not.toBe(dead)
      await visit(link)
      expect(await held).toEqual(echoes(3))
      expect(bridge.allLinks()).toEqual([link])
    }))

  it('a memory of the server that is damaged is not believed', () =>
    inAuthScene({}, async (scene) => {
      await scene.signedIn()
      const [first] = (await scene.opened(1)) as [BridgeProcess]
      await first.request('tools/list')
      const folder = join(scene.home.path, '.drawbridge', 'servers')
      await until(() => readdirSync(folder).length === 1, 'the memory')
      await first.close()
      for (const text of [
        '',
        '{"version":1',
        '[]',
        '{"version":1,"era":"modern","transport":"sse","tools":7}',
      ]) {
        for (const name of readdirSync(folder)) writeFileSync(join(folder, name), text)
        const [bridge] = (await scene.opened(1)) as [BridgeProcess]
        expect(await call(bridge)).toContain('clientId')
        await bridge.close()
      }
      expect(scene.links()).toBe(0)
    }))
})

describe('stored logins that are damaged', { concurrent: true, timeout: 60_000 }, () => {
  it.each(damages)(
    '%s: the reason and the next step, no tab, and nothing is overwritten',
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

  it('while a bridge works: it goes on with what it has, and says so when that is not enough', () =>
    inAuthScene({}, async (scene) => {
      await scene.signedIn()
      const [bridge] = (await scene.opened(1)) as [BridgeProcess]
      expect(await burst(bridge, 3)).toEqual(echoes(3))
      const good = readFileSync(recordOf(scene))
      writeFileSync(recordOf(scene), 'damaged')
      expect(await burst(bridge, 3)).toEqual(echoes(3))
      scene.remote.revokeAccessTokens()
      for (const text of await burst(bridge, 3)) expect(text).toMatch(/drawbridge logout http/)
      writeFileSync(recordOf(scene), good)
      expect(await burst(bridge, 3)).toEqual(echoes(3))
      expect(scene.links()).toBe(0)
    }))

  it('can be left behind as the next step says, while the bridge runs', () =>
    inAuthScene({}, async (scene) => {
      await scene.signedIn()
      writeFileSync(recordOf(scene), 'damaged')
      const bridge = scene.bridge()
      expect(textOf(await bridge.open())).toContain('drawbridge logout')
      const command = scene.command('logout')
      expect(await command.ended).toBe(0)
      expect(await bridge.open()).toHaveProperty('result')
      const held = burst(bridge, 3)
      await visit(await bridge.link())
      expect(await held).toEqual(echoes(3))
      expect(scene.links()).toBe(1)
    }))
})

describe('stored logins that are gone', { concurrent: true, timeout: 60_000 }, () => {
  it('by a logout elsewhere: the running bridges ask for one sign-in', () =>
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

  it('with the whole folder: calls go on, and after one sign-in everything is as before', () =>
    inAuthScene({}, async (scene) => {
      await scene.signedIn()
      const [bridge] = (await scene.opened(1)) as [BridgeProcess]
      await call(bridge)
      rmSync(join(scene.home.path, '.drawbridge'), { recursive: true })
      expect(await burst(bridge, 3)).toEqual(echoes(3))
      scene.remote.revokeAccessTokens()
      const held = burst(bridge, 3)
      await visit(await bridge.link())
      expect(await held).toEqual(echoes(3))
      expect(scene.links()).toBe(1)
      const [next] = (await scene.opened(1)) as [BridgeProcess]
      expect(await burst(next, 3)).toEqual(echoes(3))
    }))

  it('because there is no place for them: the reason, before anybody signs in for nothing', () =>
    inAuthScene({}, async (scene) => {
      writeFileSync(join(scene.home.path, '.drawbridge'), 'a file in the way', { mode: 0o600 })
      const [bridge] = (await scene.opened(1)) as [BridgeProcess]
      expect(await call(bridge)).toMatch(/^failed: .*\.drawbridge.* cannot be written/)
      expect(scene.links()).toBe(0)
      expect(scene.remote.counters).toMatchObject({ registrations: 0, tabs: 0 })
    }))
})

function everything(scene: AuthScene): string {
  return readdirSync(at(scene), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.name}: ${readFileSync(join(entry.parentPath, entry.name), 'utf8')}`)
    .sort()
    .join('\n')
}
