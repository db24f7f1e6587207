import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { systemRuntime } from '../config/system-runtime.ts'
import { CredentialError, type CredentialStore, type CredentialsConfig } from './credential-store.ts'
import { createCredentialStore } from './sealed-store.ts'
import { sampleCredential } from '../../tests/support/bridge/credentials/sample-credential.ts'
import { type StoreChild, startStoreChild } from '../../tests/support/bridge/credentials/start-store-child.ts'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'

const id = '1'.repeat(64)
const otherId = '2'.repeat(64)
const credential = sampleCredential()

let home: string
let announced: string[]
// Disables the keychain of this computer, if it has one.
const noBus = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' }
const environment = { ...process.env }
beforeEach(() => {
  home = temporaryFolder()
  announced = []
  Object.assign(process.env, noBus)
})
afterEach(() => {
  rmSync(home, { recursive: true, force: true })
  process.env = { ...environment }
})

function open(changes: Partial<CredentialsConfig> = {}): CredentialStore {
  const config: CredentialsConfig = {
    home,
    backend: 'file',
    keychainTimeoutMs: 2500,
    ...changes,
  }
  return createCredentialStore(config, { runtime: systemRuntime, announce: (line) => announced.push(line) })
}

const at = (...names: string[]): string => join(home, 'credentials', ...names)
const text = (...names: string[]): string => readFileSync(at(...names), 'utf8')
const recordOf = (name: string): string => at('records', `${name}.json`)

async function faultOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'none',
    (error: unknown) => {
      if (error instanceof CredentialError) return error.fault
      throw error
    },
  )
}

async function unreadable(store: CredentialStore): Promise<[id: string, file: string, fault: string][]> {
  const logins = await store.list()
  return logins.flatMap((login) =>
    login.kind === 'unreadable' ? [[login.id, login.file, login.failure.fault] as const] : [],
  ) as [string, string, string][]
}

function everything(folder = home): string {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => {
      const path = join(folder, entry.name)
      return `${path}\n${entry.isDirectory() ? everything(path) : readFileSync(path, 'utf8')}`
    })
    .join('\n')
}

describe('a credential store', () => {
  it('a store writes nothing before its first login', async () => {
    const store = open()
    expect(await store.read(id)).toBeUndefined()
    expect(await store.list()).toEqual([])
    expect(await store.backend()).toBeUndefined()
    expect(await store.remove(id)).toBe(false)
    expect(readdirSync(home)).toEqual([])
  })

  it('a stored login is read by the next process', async () => {
    await open().write(id, credential)
    await open().write(otherId, sampleCredential({ profile: 'other' }))
    expect(await open().read(id)).toEqual(credential)
    expect(await open().list()).toHaveLength(2)
    expect(await open().backend()).toBe('file')
    expect(await open().remove(id)).toBe(true)
    expect(await open().read(id)).toBeUndefined()
    expect(await open().remove(id)).toBe(false)
  })

  it('no file of the store has a secret in clear', async () => {
    const store = open()
    await store.write(id, credential)
    await store.write(id, { ...credential, generation: 2 })
    const all = everything()
    for (const secret of ['access-secret', 'refresh-secret', 'client-secret'])
      expect(all).not.toContain(secret)
    expect(Object.keys(JSON.parse(text('index.json')) as object).sort()).toEqual([
      'backend',
      'former',
      'kid',
      'version',
    ])
    expect(text('key').trim()).toHaveLength(43)
  })

  it('the store tells once where the key is', async () => {
    await open().prepare()
    await open().write(id, credential)
    await open().read(id)
    expect(announced).toHaveLength(1)
    expect(announced[0]).toContain(at('key'))
  })

  it('several processes that need the first key create one', async () => {
    const children = [1, 2, 3, 4].map(() => startStoreChild({ env: { ...process.env, ...noBus } }))
    onTestFinished(() => {
      for (const child of children) child.kill()
    })
    const config = { home, backend: undefined, keychainTimeoutMs: 2500 }
    await Promise.all(children.map((child) => child.ask({ do: 'open', config })))
    const answers = await Promise.all(
      children.map((child, index) => child.ask({ do: 'write', id: String(index).repeat(64), credential })),
    )
    expect(answers.map(({ message }) => message)).toEqual(children.map(() => undefined))
    expect(answers.flatMap((answer) => answer.announced)).toHaveLength(1)
    expect(await open().list()).toHaveLength(4)
  })

  it('notices are shared between processes and hidden from others', async () => {
    await open().notices.post('signin-1', 'hello')
    expect(await open().notices.read('signin-1')).toBe('hello')
    await open().notices.remove('signin-1')
    await open().notices.remove('signin-1')
    expect(await open().notices.read('signin-1')).toBeUndefined()
  })

  it('a cleared store has no logins and no key', async () => {
    await open().write(id, credential)
    await open().clear()
    expect(await open().list()).toEqual([])
    expect(existsSync(at('key'))).toBe(false)
    expect(await open().backend()).toBeUndefined()
    await open().write(id, credential)
    expect(await open().read(id)).toEqual(credential)
  })
})

describe('a damaged store is never an empty one:', () => {
  beforeEach(async () => {
    await open().write(id, credential)
    await open().write(otherId, credential)
  })

  it.each<[what: string, damage: () => void, fault: string]>([
    [
      'a record that is cut off',
      () => writeFileSync(recordOf(id), text('records', `${id}.json`).slice(0, 90)),
      'corrupt',
    ],
    ['an empty record', () => writeFileSync(recordOf(id), ''), 'corrupt'],
    ['a record of another login', () => renameSync(recordOf(otherId), recordOf(id)), 'corrupt'],
    [
      'a record of a later version',
      () => writeFileSync(recordOf(id), text('records', `${id}.json`).replace('"v":1', '"v":2')),
      'newer_version',
    ],
    ['an index that is cut off', () => writeFileSync(at('index.json'), '{"version":1'), 'key_missing'],
    ['an index of a later version', () => writeFileSync(at('index.json'), '{"version":2}'), 'newer_version'],
    ['no index', () => rmSync(at('index.json')), 'key_missing'],
    ['no key', () => rmSync(at('key')), 'key_missing'],
    ['another key', () => writeFileSync(at('key'), 'A'.repeat(43)), 'key_missing'],
    ['a key that is none', () => writeFileSync(at('key'), 'secret'), 'key_missing'],
  ])('a damaged store is reported, not treated as empty: %s', async (_what, damage, fault) => {
    damage()
    const before = everything()
    expect(await faultOf(open().read(id))).toBe(fault)
    expect(await unreadable(open())).toContainEqual([id, recordOf(id), fault])
    expect(everything()).toBe(before)
  })

  it('an unreadable record does not hide the others', async () => {
    writeFileSync(recordOf(id), 'damaged')
    const logins = await open().list()
    expect(logins).toHaveLength(2)
    expect(logins).toContainEqual({ kind: 'readable', id: otherId, credential })
    expect(await unreadable(open())).toEqual([[id, recordOf(id), 'corrupt']])
    expect(await open().remove(id)).toBe(true)
    expect(await unreadable(open())).toEqual([])
  })

  it('a record that is not a file does not hide the others', async () => {
    rmSync(recordOf(id))
    symlinkSync(recordOf(otherId), recordOf(id))
    expect(await unreadable(open())).toEqual([[id, recordOf(id), 'not_writable']])
  })

  it('nothing can be written without the key until the sealed records are removed', async () => {
    rmSync(at('key'))
    const store = open()
    expect(await faultOf(store.write('3'.repeat(64), credential))).toBe('key_missing')
    expect(await faultOf(store.prepare())).toBe('key_missing')
    await store.remove(id)
    expect(await faultOf(open().prepare())).toBe('key_missing')
    await store.remove(otherId)
    await open().write(id, credential)
    expect(await open().read(id)).toEqual(credential)
  })

  it('a sign-in replaces a record that cannot be read', async () => {
    writeFileSync(recordOf(id), 'damaged')
    await open().write(id, credential)
    expect(await open().read(id)).toEqual(credential)
  })

  it('a damaged index can be left behind for good', async () => {
    writeFileSync(at('index.json'), 'damaged')
    expect(await faultOf(open().write(id, credential))).toBe('key_missing')
    await open().clear()
    await open().write(id, credential)
    expect(await open().read(id)).toEqual(credential)
  })
})

describe('the key is where it was put first:', () => {
  const keychainIndex = JSON.stringify({ version: 1, backend: 'keychain', kid: '0123456789abcdef' })

  it('a key in an unreachable keychain is created nowhere else', async () => {
    await open().write(id, credential)
    const sealed = JSON.parse(text('records', `${id}.json`)) as { kid: string }
    writeFileSync(at('index.json'), keychainIndex.replace('0123456789abcdef', sealed.kid))
    const before = everything()
    const store = open({ backend: undefined })
    expect(await faultOf(store.read(id))).toMatch(/^keychain_/)
    expect(await faultOf(store.write(id, credential))).toMatch(/^keychain_/)
    expect(await faultOf(store.prepare())).toMatch(/^keychain_/)
    expect(await store.backend()).toBe('keychain')
    expect(everything()).toBe(before)
  })

  it('a key that was missing for a moment is found again', async () => {
    await open().write(id, credential)
    renameSync(at('key'), at('key.away'))
    const store = open()
    expect(await faultOf(store.read(id))).toBe('key_missing')
    renameSync(at('key.away'), at('key'))
    await expect.poll(() => faultOf(store.read(id))).toBe('none')
    expect(await store.read(id)).toEqual(credential)
  })

  it('a chosen keychain that does not work gets no key', async () => {
    expect(await faultOf(open({ backend: 'keychain' }).prepare())).toMatch(/^keychain_/)
    expect(existsSync(at('index.json'))).toBe(false)
  })
})

describe('a key of the environment', () => {
  const key = encodeBase64url(new Uint8Array(32).fill(7))
  const otherKey = encodeBase64url(new Uint8Array(32).fill(8))

  it('a key of the environment opens the store and is written nowhere', async () => {
    await open({ backend: undefined, key }).write(id, credential)
    expect(await open({ backend: undefined, key }).read(id)).toEqual(credential)
    expect(await open({ backend: undefined, key }).backend()).toBe('environment')
    expect(existsSync(at('key'))).toBe(false)
    expect(everything()).not.toContain(key)
    expect(announced).toEqual([expect.stringContaining('DRAWBRIDGE_KEY')])
    expect(announced.join('')).not.toContain(key)
  })

  it.each<[string, string | undefined, RegExp]>([
    ['is not given', undefined, /is not set now/],
    ['is another one', otherKey, /does not hold the key/],
    ['is none', 'AAAA', /does not hold the key/],
  ])('a key of the environment that %s is reported as missing', async (_what, given, says) => {
    await open({ backend: undefined, key }).write(id, credential)
    const reading = open({ backend: undefined, key: given }).read(id)
    await expect(reading).rejects.toMatchObject({ fault: 'key_missing' })
    await expect(reading).rejects.toThrow(says)
  })

  it('a key of the environment replaces a key file, whose logins still open', async () => {
    await open().write(otherId, credential)
    const store = open({ backend: undefined, key })
    await store.write(id, credential)
    expect(await unreadable(open({ backend: undefined, key }))).toEqual([])
    expect(JSON.parse(text('index.json'))).toMatchObject({
      backend: 'environment',
      former: [{ backend: 'file' }],
    })
  })
})

describe.skipIf(process.platform === 'win32')('a folder that cannot be written', () => {
  it('a store in a folder that cannot be written can still be read', async () => {
    await open().write(id, credential)
    // Root can write everywhere, so the reader is another user.
    const isRoot = process.getuid?.() === 0
    for (const folder of [home, at(), at('records')]) chmodSync(folder, isRoot ? 0o755 : 0o500)
    for (const file of [at('index.json'), at('key'), recordOf(id)]) chmodSync(file, isRoot ? 0o644 : 0o400)
    const child = startStoreChild(isRoot ? { uid: 65_534, gid: 65_534 } : {})
    onTestFinished(() => child.kill())
    const config = { home, backend: undefined, keychainTimeoutMs: 2500 }
    await child.ask({ do: 'open', config })
    expect((await child.ask({ do: 'read', id })).value).toEqual(credential)
    for (const request of [
      { do: 'write', id, credential } as const,
      { do: 'prepare' } as const,
      { do: 'hold', name: id, waitMs: 100 } as const,
    ]) {
      expect(await child.ask(request)).toMatchObject({ fault: 'not_writable' })
    }
    for (const folder of [home, at(), at('records')]) chmodSync(folder, 0o700)
  })
})

// Only root can give a folder away.
describe.skipIf(process.getuid?.() !== 0)('files of another user', () => {
  const [otherUser, attacker] = [65_534, 65_533]

  /** Opens the store of {@link home} as `otherUser`. */
  async function child(): Promise<StoreChild> {
    const started = startStoreChild({ uid: otherUser, gid: otherUser })
    onTestFinished(() => started.kill())
    const config = { home, backend: undefined, keychainTimeoutMs: 2500 }
    await started.ask({ do: 'open', config })
    return started
  }

  it('a folder of another user is rejected', async () => {
    chmodSync(home, 0o755)
    mkdirSync(at(), { mode: 0o777 })
    chmodSync(at(), 0o777)
    chownSync(at(), attacker, attacker)
    const store = await child()
    expect(await store.ask({ do: 'read', id })).toMatchObject({ fault: 'not_writable' })
    const answer = await store.ask({ do: 'write', id, credential })
    expect(answer).toMatchObject({ fault: 'not_writable' })
    expect(answer.message).toContain('belongs to another user')
    expect(readdirSync(at())).toEqual([])
  })

  it('a key file of another user is rejected', async () => {
    chownSync(home, otherUser, otherUser)
    mkdirSync(at(), { mode: 0o777 })
    chownSync(at(), otherUser, otherUser)
    writeFileSync(at('key'), 'A'.repeat(43), { mode: 0o644 })
    chownSync(at('key'), attacker, attacker)
    const answer = await (await child()).ask({ do: 'write', id, credential })
    expect(answer).toMatchObject({ fault: 'not_writable' })
    expect(answer.message).toContain('belongs to another user')
  })
})

it('a store in memory writes nothing, and locks like the other', async () => {
  const store = open({ backend: 'memory' })
  await store.prepare()
  await store.write(id, credential)
  await store.notices.post('a', 'text')
  expect(await store.read(id)).toEqual(credential)
  expect(await store.list()).toEqual([{ kind: 'readable', id, credential }])
  expect(await store.backend()).toBe('memory')
  await store.exclusively(id, { waitMs: 0 }, async () => {
    expect(await faultOf(store.exclusively(id, { waitMs: 0 }, async () => 1))).toBe('busy')
  })
  expect(await store.remove(id)).toBe(true)
  expect(readdirSync(home)).toEqual([])
  expect(await open({ backend: 'memory' }).read(id)).toBeUndefined()
})
