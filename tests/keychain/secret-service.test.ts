import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { CredentialsConfig } from '../../bridge/credentials/credential-store.ts'
import { sampleCredential } from '../support/bridge/credentials/sample-credential.ts'
import { type StoreChild, startStoreChild } from '../support/bridge/credentials/start-store-child.ts'
import { skipWithout } from '../support/find-program.ts'
import { underLoad } from '../support/under-load.ts'
import { type KeyringSession, missingPackages, type SecretService, startKeyringSession } from './session.ts'

const missing = missingPackages()
const isSkipped =
  missing.length > 0 && !skipWithout(`the keychain needs apt-get install ${missing.join(' ')}`)

const id = 'a'.repeat(64)
const otherId = 'b'.repeat(64)
const credential = sampleCredential()
const secrets = ['access-secret', 'refresh-secret', 'client-secret']

let endings: (() => unknown)[] = []
afterEach(async () => {
  for (const ending of endings.toReversed()) await ending()
  endings = []
})

async function session(service: SecretService, more?: Record<string, string>): Promise<KeyringSession> {
  const started = await startKeyringSession(service, more)
  endings.push(started.close)
  return started
}

function configOf(home: string, changes: Partial<CredentialsConfig> = {}): CredentialsConfig {
  const drawbridge = join(home, '.drawbridge')
  return { home: drawbridge, backend: undefined, keychainTimeoutMs: 2500, ...changes }
}

async function open(
  { home, environment }: Pick<KeyringSession, 'home' | 'environment'>,
  changes?: Partial<CredentialsConfig>,
): Promise<StoreChild> {
  const child = startStoreChild({ env: environment })
  endings.push(child.kill)
  await child.ask({ do: 'open', config: configOf(home, changes) })
  return child
}

/** Returns the content of all readable files below the home, and all names. */
function everything(folder: string): string {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return everything(path)
      return entry.isFile() ? `${path}\n${readFileSync(path, 'latin1')}` : path
    })
    .join('\n')
}

describe.skipIf(isSkipped)('a working keychain', () => {
  it('the keychain holds the key, and credentials are sealed files; a probe and the end leave nothing behind', async () => {
    const here = await session('unlocked')
    const first = await open(here)
    expect(await first.ask({ do: 'probe', config: configOf(here.home) })).toMatchObject({ value: 'works' })
    expect(here.search()).toBe('')
    expect(await first.ask({ do: 'write', id, credential })).toMatchObject({
      announced: ['Credentials are sealed with a key in the keychain of this computer.'],
    })
    const second = await open(here)
    expect(await second.ask({ do: 'read', id })).toEqual({ value: credential, announced: [] })
    expect(await second.ask({ do: 'backend' })).toMatchObject({ value: 'keychain' })
    // Where a person has time it is asked in a child process.
    const patient = await open(here, { keychainTimeoutMs: 120_000 })
    expect(await patient.ask({ do: 'read', id })).toMatchObject({ value: credential })

    const found = here.search()
    expect(found.match(/^secret = /gm)).toHaveLength(1)
    expect(found).toMatch(/^secret = [\w-]{43}$/m)
    expect(existsSync(join(here.home, '.drawbridge/credentials/key'))).toBe(false)
    const key = /^secret = (.*)$/m.exec(found)?.[1] ?? 'none'
    for (const secret of [...secrets, key]) expect(everything(here.home)).not.toContain(secret)
    for (const secret of secrets) expect(found).not.toContain(secret)
    await first.ask({ do: 'clear' })
    expect(here.search()).toBe('')
    expect(await first.ask({ do: 'backend' })).not.toHaveProperty('value')
  })

  it('one key is made in the keychain, however many processes need the first one', async () => {
    const here = await session('unlocked')
    const children = await Promise.all([1, 2, 3, 4].map(() => open(here)))
    const ids = ['1', '2', '3', '4'].map((digit) => digit.repeat(64))
    const written = await Promise.all(
      children.map((child, index) => child.ask({ do: 'write', id: ids[index] ?? '', credential })),
    )
    expect(written.map(({ message }) => message)).toEqual(ids.map(() => undefined))
    expect(here.search().match(/^secret = /gm)).toHaveLength(1)
    expect((await children[0]?.ask({ do: 'list' }))?.value).toHaveLength(4)
  })

  it('the keychain is found in the bare environment that clients give', async (context) => {
    const folder = `/run/user/${String(process.getuid?.())}`
    // Do not touch a real session of this user.
    if (existsSync(folder)) return context.skip(`${folder} is in use`)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    endings.push(() => rmSync(folder, { recursive: true }))
    const here = await session('unlocked', { BUS_SOCKET: join(folder, 'bus') })
    const { HOME = '', PATH = '', LOGNAME = 'user' } = here.environment
    const environment = { HOME, LOGNAME, PATH, SHELL: '/bin/sh', TERM: 'dumb', USER: LOGNAME }
    const bare = { home: here.home, environment }
    const config = configOf(here.home)
    const child = await open(bare)
    expect(await child.ask({ do: 'probe', config })).toMatchObject({ value: 'works' })
    await child.ask({ do: 'write', id, credential })
    expect(here.search().match(/^secret = /gm)).toHaveLength(1)
    const next = await open(bare)
    expect(await next.ask({ do: 'read', id })).toMatchObject({ value: credential })
    // Proves that the repair was needed: an address in the environment is not replaced.
    const broken = {
      ...bare,
      environment: { ...environment, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' },
    }
    expect(await (await open(broken)).ask({ do: 'read', id })).toMatchObject({ fault: /^keychain_/ })
  })
})

describe.skipIf(isSkipped)('a chosen keychain that does not answer is not replaced', () => {
  async function unchanged(here: KeyringSession, child: StoreChild, fault: unknown): Promise<void> {
    const before = everything(join(here.home, '.drawbridge', 'credentials'))
    for (const request of [
      { do: 'read', id },
      { do: 'write', id: otherId, credential },
      { do: 'prepare' },
    ] as const) {
      expect(await child.ask(request)).toMatchObject({ fault })
    }
    const { value: logins } = await child.ask({ do: 'list' })
    expect(logins).toMatchObject([{ kind: 'unreadable', id, failure: { fault } }])
    expect(await child.ask({ do: 'backend' })).toMatchObject({ value: 'keychain' })
    expect(everything(join(here.home, '.drawbridge', 'credentials'))).toBe(before)
  }

  it('a locked keychain that was chosen is not replaced, except by another one that the configuration names', async () => {
    const here = await session('unlocked')
    const before = await open(here)
    await before.ask({ do: 'write', id, credential })
    here.lock()
    // A process that has the key continues.
    expect(await before.ask({ do: 'read', id })).toMatchObject({ value: credential })
    await unchanged(here, await open(here), 'keychain_locked')
    // In a child process too.
    await unchanged(here, await open(here, { keychainTimeoutMs: 5000 }), 'keychain_locked')
    const child = await open(here, { backend: 'file' })
    expect(await child.ask({ do: 'read', id })).toMatchObject({ fault: 'keychain_locked' })
    expect(await child.ask({ do: 'write', id: otherId, credential })).not.toHaveProperty('fault')
    expect(await (await open(here)).ask({ do: 'read', id: otherId })).toMatchObject({ value: credential })
  })

  it('a chosen keychain that has lost the key, or does not show it, is not replaced', async () => {
    const here = await session('unlocked')
    await (await open(here)).ask({ do: 'write', id, credential })
    here.run('secret-tool', 'clear', 'service', 'drawbridge')
    await unchanged(here, await open(here), 'key_missing')
    expect(here.search()).toBe('')
    // Its sealed data is discarded, so that there can be a new one.
    const child = await open(here)
    await child.ask({ do: 'remove', id })
    expect(await child.ask({ do: 'write', id, credential })).not.toHaveProperty('fault')
    expect(await (await open(here)).ask({ do: 'read', id })).toMatchObject({ value: credential })
  })

  it.each<[SecretService, string[]]>([
    ['none', ['keychain_absent']],
    // If the child starts slowly, the deadline comes first.
    ['mute', ['keychain_mute', 'keychain_locked']],
  ])('a chosen keychain that is gone is not replaced: %s', async (service, faults) => {
    const here = await session('unlocked')
    await (await open(here)).ask({ do: 'write', id, credential })
    const other = await session(service)
    const child = await open({ home: here.home, environment: other.environment })
    const startedAt = performance.now()
    const { fault } = await child.ask({ do: 'read', id })
    expect(performance.now() - startedAt).toBeLessThan(underLoad(3500))
    expect(faults).toContain(fault)
    await unchanged(here, child, expect.toBeOneOf(faults))
    // It also does not delay the exit.
    const endedAt = performance.now()
    await child.stop()
    expect(performance.now() - endedAt).toBeLessThan(underLoad(1500))
    // And it is used again when it is back.
    expect(await (await open(here)).ask({ do: 'read', id })).toMatchObject({ value: credential })
  })
})

describe.skipIf(isSkipped)('a computer without a usable keychain', () => {
  it.each<[SecretService, string]>([
    ['none', 'keychain_absent'],
    ['no-collection', 'keychain_locked'],
    ['mute', 'keychain_mute'],
  ])('without a usable keychain the key is in a file, and stays there: %s', async (service, fault) => {
    const here = await session(service)
    const child = await open(here)
    const config = configOf(here.home, { keychainTimeoutMs: 10_000 })
    expect(await child.ask({ do: 'probe', config })).toMatchObject({ fault })
    const { announced } = await child.ask({ do: 'write', id, credential })
    expect(announced).toHaveLength(1)
    expect(announced[0]).toMatch(/^The keychain cannot be used: .*\. Credentials are sealed with a key in /)
    expect(await child.ask({ do: 'backend' })).toMatchObject({ value: 'file' })
    // A keychain that becomes available later changes nothing.
    const later = await session('unlocked')
    const next = await open({ home: here.home, environment: later.environment })
    expect(await next.ask({ do: 'read', id })).toEqual({ value: credential, announced: [] })
    expect(await next.ask({ do: 'write', id: otherId, credential })).toEqual({ announced: [] })
    expect(later.search()).toBe('')
  })

  it('a keychain is absent without a session bus', async () => {
    const here = await session('none')
    const { DBUS_SESSION_BUS_ADDRESS: _bus, XDG_RUNTIME_DIR: _folder, ...environment } = here.environment
    const child = await open({ home: here.home, environment })
    expect(await child.ask({ do: 'probe', config: configOf(here.home) })).toMatchObject({
      fault: 'keychain_absent',
    })
  })
})
