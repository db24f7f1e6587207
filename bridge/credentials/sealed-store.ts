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
import { KeyRing } from './key-ring.ts'
import { createFileLock } from './lock/file-lock.ts'
import { createMemoryStore } from './memory-store.ts'
import { createPrivateFolder, type PrivateFolder } from './private-folder.ts'

/**
 * Creates a store of files that only their owner can read, each sealed with a single key. `announce` receives lines for the
 * user: once, where the key is kept, and warnings about files that were open to others.
 */
export function createCredentialStore(
  config: CredentialsConfig,
  ports: { runtime: Runtime; announce(line: string): void },
): CredentialStore {
  if (config.backend === 'memory') return createMemoryStore(ports.runtime)
  const warn = once(ports.announce)
  const open = (name: string): PrivateFolder => createPrivateFolder(config.home, name, warn)
  const folder = open('credentials')
  const records = open('credentials/records')
  const notices = open('credentials/notices')
  const locks = open('credentials/locks')
  const exclusively = createFileLock(locks, ports.runtime)
  const ring = new KeyRing(config, {
    folder,
    exclusively,
    announce: ports.announce,
    // A record without a key id is lost, whatever happens to the key.
    isNeeded: (kid) =>
      storedIds(records).some((id) => records.read(fileName(id))?.includes(`"kid":"${kid}"`) === true),
  })

  async function read(id: LoginId): Promise<Credential | undefined> {
    const text = records.read(fileName(id))
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
      records.write(fileName(id), text)
    },
    remove: async (id) => records.remove(fileName(id)),
    async list() {
      const found: StoredLogin[] = []
      for (const id of storedIds(records)) {
        const login = await lookAt(id)
        if (login !== undefined) found.push(login)
      }
      return found
    },
    async prepare() {
      records.prepare()
      await ring.sealing()
    },
    async clear() {
      for (const folder of [records, notices]) for (const name of folder.names()) folder.remove(name)
      await ring.clear()
    },
    notices: {
      post: async (name, text) => notices.write(`${name}.json`, text),
      read: async (name) => notices.read(`${name}.json`),
      remove: async (name) => void notices.remove(`${name}.json`),
    },
    exclusively,
    backend: async () => ring.backend(),
  }
}

/** Passes on each line once. */
function once(announce: (line: string) => void): (line: string) => void {
  const announced = new Set<string>()
  return (line) => {
    if (!announced.has(line)) announce(line)
    announced.add(line)
  }
}

function storedIds(records: PrivateFolder): LoginId[] {
  return records.names().flatMap((name) => {
    const id = name.replace(/\.json$/, '')
    return id !== name && isLoginId(id) ? [id] : []
  })
}

function fileName(id: LoginId): string {
  return `${id}.json`
}
