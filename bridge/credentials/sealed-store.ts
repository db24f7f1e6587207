import { join } from 'node:path'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { openCredentialRecord, parseCredentialRecord, sealCredential } from './credential-record.ts'
import {
  CredentialError,
  type CredentialStore,
  type CredentialsConfig,
  type LoginId,
  type StoredLogin,
  isLoginId,
} from './credential-store.ts'
import type { Credential } from './credential.ts'
import type { FileLock } from './lock/file-lock.ts'
import { createKeyRing } from './key-ring.ts'
import { createKeychain } from './keychain/keychain.ts'
import { createMemoryStore } from './memory-store.ts'
import { createPrivateFolder, type PrivateFolder } from './files/private-folder.ts'

/**
 * Credentials in files that only their owner can read, each sealed with one key that the keychain keeps if there is one.
 * Shared by all processes of the user. `announce` is told, for people, where the key was put, once and for all, and of files
 * that were open to others. Nothing is touched before it is needed.
 */
export function createCredentialStore(
  config: CredentialsConfig,
  ports: { runtime: Runtime; announce(line: string): void },
): CredentialStore {
  if (config.backend === 'memory') return createMemoryStore(ports.runtime)
  const root = join(config.home, 'credentials')
  const warned = new Set<string>()
  const warn = (line: string): void => {
    if (!warned.has(line)) ports.announce(line)
    warned.add(line)
  }
  const folder = createPrivateFolder(root, undefined, warn)
  const records = createPrivateFolder(root, 'records', warn)
  const notices = createPrivateFolder(root, 'notices', warn)
  const locks = createPrivateFolder(root, 'locks', warn)
  let fileLock: Promise<FileLock> | undefined
  /** Loaded when it is first taken: reading a login takes none. */
  const lock: FileLock = async (name, options, work) => {
    fileLock ??= import('./lock/file-lock.ts').then(({ createFileLock }) =>
      createFileLock(locks, ports.runtime),
    )
    return (await fileLock)(name, options, work)
  }
  const ring = createKeyRing(config, {
    folder,
    lock,
    keychain: createKeychain(config),
    announce: ports.announce,
    isNeeded: (kid) => isSealedWith(records, kid),
  })

  async function read(id: LoginId): Promise<Credential | undefined> {
    const text = await records.read(fileName(id))
    if (text === undefined) return undefined
    const record = parseCredentialRecord(text)
    return openCredentialRecord(id, record, await ring.opening(record.kid))
  }

  async function lookAt(id: LoginId): Promise<StoredLogin | undefined> {
    try {
      const credential = await read(id)
      return credential && { kind: 'readable', id, credential }
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error
      return { kind: 'unreadable', id, file: join(records.path, fileName(id)), failure: error }
    }
  }

  return {
    read,
    async write(id, credential) {
      const key = await ring.sealing()
      const text = sealCredential(id, credential, key, ports.runtime.randomBytes(12))
      await records.write(fileName(id), text)
    },
    remove: (id) => records.remove(fileName(id)),
    async list() {
      const found: StoredLogin[] = []
      for (const id of await storedIds(records)) {
        const login = await lookAt(id)
        if (login !== undefined) found.push(login)
      }
      return found
    },
    async prepare() {
      await records.prepare()
      await ring.sealing()
    },
    async clear() {
      for (const name of await records.names()) await records.remove(name)
      for (const name of await notices.names()) await notices.remove(name)
      await ring.clear()
    },
    notices: {
      post: (name, text) => notices.write(`${name}.json`, text),
      read: (name) => notices.read(`${name}.json`),
      remove: async (name) => {
        await notices.remove(`${name}.json`)
      },
    },
    exclusively: lock,
    backend: ring.backend,
  }
}

async function storedIds(records: PrivateFolder): Promise<LoginId[]> {
  const names = await records.names()
  return names.flatMap((name) => {
    const id = name.replace(/\.json$/, '')
    return id !== name && isLoginId(id) ? [id] : []
  })
}

/** A record that says nothing of its key is lost whatever happens to the key. */
async function isSealedWith(records: PrivateFolder, kid: string): Promise<boolean> {
  for (const id of await storedIds(records)) {
    const text = await records.read(fileName(id))
    if (text !== undefined && kidOf(text) === kid) return true
  }
  return false
}

function kidOf(text: string): string | undefined {
  try {
    return parseCredentialRecord(text).kid
  } catch (error) {
    if (error instanceof CredentialError) return undefined
    throw error
  }
}

function fileName(id: LoginId): string {
  return `${id}.json`
}
