import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import type { CredentialsConfig } from '../credential-store.ts'
import { explainKeychain } from './keychain-error.ts'
import { missingBusAddress } from './keychain.ts'
import {
  type StoreChild,
  startStoreChild,
} from '../../../tests/support/bridge/credentials/start-store-child.ts'

let folder: string
beforeEach(() => void (folder = temporaryFolder()))

/** Ways in which the native module may behave, as source of a module. */
const natives = {
  absent: 'throw new Error("Cannot find native binding. npm has a bug related to optional dependencies")',
  mute: `exports.AsyncEntry = class {
    getPassword() { return new Promise(() => setTimeout(() => undefined, 60_000)) }
    setPassword() { return this.getPassword() }
    deletePassword() { return this.getPassword() }
  }`,
  // A crash on a thread of the native module, as seen from here.
  crashing: `exports.AsyncEntry = class { constructor() { process.kill(process.pid, 'SIGSEGV') } }`,
  forgetful: `exports.AsyncEntry = class {
    async getPassword() { return null }
    async setPassword() {}
    async deletePassword() { return false }
  }`,
  ending: 'process.exit(3)',
  odd: 'exports.AsyncEntry = class { constructor() { throw new Error("Something\\n  odd") } }',
}

/** Starts a process that uses this native module, also in its helpers. */
function childWith(native: keyof typeof natives): StoreChild {
  const module = join(folder, `${native}.cjs`)
  const hook = join(folder, `${native}-hook.mjs`)
  writeFileSync(module, natives[native])
  writeFileSync(
    hook,
    `import { registerHooks } from 'node:module'
    registerHooks({
      resolve: (name, context, next) => next(name === 'keytar' ? ${JSON.stringify(module)} : name, context),
    })`,
  )
  const child = startStoreChild({ env: { ...process.env, NODE_OPTIONS: `--import=${hook}` } })
  onTestFinished(() => child.kill())
  return child
}

const configOf = (keychainTimeoutMs: number): CredentialsConfig => ({
  home: join(folder, 'home'),
  backend: undefined,
  keychainTimeoutMs,
})

it.each<[keyof typeof natives, string, string]>([
  ['absent', 'keychain_absent', 'its native part is not installed'],
  ['mute', 'keychain_locked', 'no answer in 1 s'],
  ['crashing', 'keychain_failed', 'it crashed (SIGSEGV)'],
  ['forgetful', 'keychain_failed', 'what was written cannot be read'],
  ['ending', 'keychain_failed', 'without a word'],
  ['odd', 'keychain_failed', 'Something odd'],
])('a keychain that is %s is %s, and the key is in a file', async (native, fault, detail) => {
  const child = childWith(native)
  // Only the one that never responds has to time out.
  const config = configOf(native === 'mute' ? 1000 : 20_000)
  const probed = await child.ask({ do: 'probe', config })
  expect(probed).toMatchObject({ fault, message: expect.stringContaining(detail) })
  await child.ask({ do: 'open', config })
  const { announced } = await child.ask({ do: 'prepare' })
  expect(announced).toEqual([expect.stringContaining('The keychain cannot be used')])
  expect(await child.ask({ do: 'backend' })).toMatchObject({ value: 'file' })
})

it('a keychain that hangs is given up after the time limit, in this process and in a child', async () => {
  const config = configOf(1000)
  const { home } = config
  mkdirSync(join(home, 'credentials'), { recursive: true, mode: 0o700 })
  const index = { version: 1, backend: 'keychain', kid: '0123456789abcdef' }
  writeFileSync(join(home, 'credentials', 'index.json'), JSON.stringify(index), { mode: 0o600 })
  mkdirSync(join(home, 'credentials', 'records'), { mode: 0o700 })
  const record = { v: 1, kid: index.kid, gen: 1, alg: 'A256GCM', nonce: 'A'.repeat(16), ct: 'A'.repeat(64) }
  const id = 'a'.repeat(64)
  writeFileSync(join(home, 'credentials', 'records', `${id}.json`), JSON.stringify(record), { mode: 0o600 })
  const child = childWith('mute')
  await child.ask({ do: 'open', config })
  // The failure is kept for a while: the second read takes no time.
  for (const limitMs of [8000, 900]) {
    const startedAt = performance.now()
    expect(await child.ask({ do: 'read', id })).toMatchObject({ fault: 'keychain_locked' })
    expect(performance.now() - startedAt).toBeLessThan(limitMs)
  }
  const endedAt = performance.now()
  await child.stop()
  expect(performance.now() - endedAt).toBeLessThan(5000)
})

describe('a message of a keychain', () => {
  it.each([
    [
      '... autolaunch was disabled at compile time, set your DBUS_SESSION_BUS_ADDRESS instead',
      'keychain_absent',
    ],
    ['The name org.freedesktop.secrets was not provided by any .service files', 'keychain_absent'],
    ["Cannot find package 'keytar' imported from x", 'keychain_absent'],
    ['Did not receive a reply. Possible causes include', 'keychain_mute'],
    ['Secret Service: unlock prompt was dismissed', 'keychain_locked'],
    ['org.freedesktop.Secret.Error.IsLocked: Cannot get secret of a locked object', 'keychain_locked'],
    ['Secret Service: no result found', 'keychain_locked'],
    ['User interaction is not allowed.', 'keychain_locked'],
    ['whatever', 'keychain_failed'],
    ['', 'keychain_failed'],
  ])('the keychain message %j means %s', (message, fault) => {
    expect(explainKeychain(message)).toMatchObject({ fault, message: expect.not.stringContaining(': .') })
  })
})

describe('the next step after a failure of the keychain', () => {
  it.each<[message: string, isLinux: boolean]>([
    ['DBUS_SESSION_BUS_ADDRESS is not set', true],
    ['The name org.freedesktop.secrets was not provided by any .service files', true],
    ['Cannot find native binding. npm has a bug', false],
    ['User interaction is not allowed. (-25308)', false],
    ['Element not found. (os error 1168)', false],
    ['The RPC server is unavailable. (os error 1722)', false],
  ])('the next step names a Secret Service for messages of Linux only: %s', (message, isLinux) => {
    const { message: text, nextStep = '' } = explainKeychain(message)
    expect(/gnome-keyring/.test(nextStep)).toBe(isLinux)
    expect(text).not.toContain('gnome')
  })
})

describe.skipIf(process.platform !== 'linux')('the address of the session bus', () => {
  beforeEach(async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(join(folder, 'bus'), resolve))
    onTestFinished(() => void server.close())
  })

  it('the session bus is that of the runtime folder if the environment names none', () => {
    const address = `unix:path=${join(folder, 'bus')}`
    expect(missingBusAddress({ XDG_RUNTIME_DIR: folder }, 1)).toBe(address)
    expect(missingBusAddress({ XDG_RUNTIME_DIR: folder, DBUS_SESSION_BUS_ADDRESS: '' }, 1)).toBe(address)
  })

  it.each<[string, Record<string, string>, number | undefined]>([
    ['it has one', { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/x', XDG_RUNTIME_DIR: 'run' }, 1],
    ['there is no socket', { XDG_RUNTIME_DIR: tmpdir() }, 1],
    ['there is no folder', {}, 4_000_000],
    ['the user is unknown', {}, undefined],
  ])('the session bus stays unchanged when %s', (_why, environment, user) => {
    const folderOf = environment['XDG_RUNTIME_DIR'] === 'run' ? { XDG_RUNTIME_DIR: folder } : {}
    expect(missingBusAddress({ ...environment, ...folderOf }, user)).toBeUndefined()
  })
})
