import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { BridgeProcess } from '../e2e/bridge-process.ts'
import { bridgeLauncher } from '../support/bridge/process/bridge-child.ts'
import {
  type KeyringSession,
  missingPackages,
  type SecretService,
  startKeyringSession,
} from '../keychain/session.ts'
import { underLoad } from '../support/under-load.ts'
import {
  type AuthScene,
  burst,
  call,
  echoes,
  inAuthScene,
  textOf,
  visit,
} from '../support/bridge/sign-in/auth-scene.ts'

const missing = missingPackages()
const isSkipped = missing.length > 0 && process.env['CI'] !== 'true'
/** Runs `work` with sessions whose keychains are such. */
async function withSessions(
  services: readonly SecretService[],
  work: (...environments: Record<string, string>[]) => Promise<void>,
): Promise<void> {
  const sessions: KeyringSession[] = []
  try {
    for (const service of services) sessions.push(await startKeyringSession(service))
    await work(
      ...sessions.map(({ environment }) => ({
        DBUS_SESSION_BUS_ADDRESS: environment['DBUS_SESSION_BUS_ADDRESS'] ?? '',
        XDG_RUNTIME_DIR: environment['XDG_RUNTIME_DIR'] ?? '',
      })),
    )
  } finally {
    await Promise.all(sessions.map((session) => session.close()))
  }
}

function start(scene: AuthScene, environment: Record<string, string>): BridgeProcess {
  return scene.bridge({ flags: ['--store', 'keychain'], environment })
}

async function signIn(scene: AuthScene, environment: Record<string, string>): Promise<BridgeProcess> {
  const bridge = start(scene, environment)
  await bridge.open()
  const held = burst(bridge, 3)
  await visit(await bridge.link())
  expect(await held).toEqual(echoes(3))
  return bridge
}

describe('the helper that asks the keychain', () => {
  it('the keychain helper is a program of its own in the build, and prints only its answer', () => {
    const helper = join(dirname(bridgeLauncher), 'dist', 'keychain-helper.mjs')
    const said = execFileSync(process.execPath, [helper], { input: '{}', encoding: 'utf8' })
    expect(JSON.parse(said)).toEqual({ kind: 'failed', message: expect.any(String) })
  })
})

describe.skipIf(isSkipped)('a login in a keychain', { concurrent: true, timeout: 60_000 }, () => {
  it('a bridge waits for a mute keychain without a second store, and uses it when it is back', () =>
    inAuthScene({}, (scene) =>
      withSessions(['unlocked', 'mute'], async (good = {}, bad = {}) => {
        await (await signIn(scene, good)).close()
        const without = start(scene, bad)
        const begin = performance.now()
        expect(textOf(await without.open())).toMatch(/keychain/i)
        expect(performance.now() - begin).toBeLessThan(underLoad(6000))
        expect(await call(without)).toMatch(/keychain/i)
        expect(existsSync(join(scene.home, '.drawbridge', 'credentials', 'key'))).toBe(false)
        const again = start(scene, good)
        await again.open()
        expect(await burst(again, 3)).toEqual(echoes(3))
        expect(scene.links()).toBe(1)
      }),
    ))

  it('a keychain that disappears does not stop a running bridge, also when tokens are renewed', () =>
    inAuthScene({}, async (scene) => {
      let running: BridgeProcess | undefined
      await withSessions(['unlocked'], async (good = {}) => {
        running = await signIn(scene, good)
      })
      scene.remote.revokeAccessTokens()
      expect(await burst(running as BridgeProcess, 3)).toEqual(echoes(3))
      expect(scene.links()).toBe(1)
      expect(scene.remote.counters).toMatchObject({ refreshesOk: 1, codeGrants: 1 })
    }))
})
