import { randomBytes, scrypt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeBase64url, encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { CredentialError, type CredentialsConfig } from './credential-store.ts'
import type { FileLock } from './lock/file-lock.ts'
import { type KeyEntry, type KeyIndex, parseKeyIndex, withCurrentKey, writeKeyIndex } from './key-index.ts'
import type { Keychain } from './keychain/keychain.ts'
import type { PrivateFolder } from './files/private-folder.ts'
import { parseSealingKey, sealingKey, type SealingKey, writeSealingKey } from './credential-record.ts'

const indexFile = 'index.json'
const keyFile = 'key'
const lockMs = 20_000
/** A keychain that has just failed is not asked again for every message of a client. */
const failureMs = 3000

/** The keys that seal credentials. Rejects with {@link CredentialError}. */
export interface KeyRing {
  /** The key to seal with now. Chosen, made and announced when there is none yet. */
  sealing(): Promise<SealingKey>
  /** The key of that id, wherever it is kept. */
  opening(kid: string): Promise<SealingKey>
  backend(): Promise<KeyEntry['backend'] | undefined>
  /** Forgets the choice and every key. What they sealed stays sealed for ever. */
  clear(): Promise<void>
}

/** What a key ring works with. */
export interface KeyRingPorts {
  folder: PrivateFolder
  lock: FileLock
  keychain: Keychain
  announce(line: string): void
  /** Whether anything that is stored would be lost with that key. */
  isNeeded(kid: string): Promise<boolean>
}

/**
 * Keeps to what was chosen first: the configuration, else what the index says, else the keychain if it works, else a file.
 * A chosen place that does not answer is an error and never a reason to choose another one: the credentials are still
 * there, and a second key would make them look lost. A place that the configuration names is taken from then on, and what
 * older keys sealed still opens.
 */
export function createKeyRing(config: CredentialsConfig, ports: KeyRingPorts): KeyRing {
  const { folder, keychain } = ports
  const keys = new Map<string, Promise<SealingKey>>()

  async function readIndex(): Promise<KeyIndex | undefined> {
    const text = await folder.read(indexFile)
    return text === undefined ? undefined : parseKeyIndex(text)
  }

  function load(entry: KeyEntry): Promise<SealingKey> {
    const known = keys.get(entry.kid)
    if (known !== undefined) return known
    const loading = loadKey(entry)
    keys.set(entry.kid, loading)
    loading.catch(() => {
      setTimeout(() => keys.delete(entry.kid), failureMs).unref()
    })
    return loading
  }

  async function loadKey(entry: KeyEntry): Promise<SealingKey> {
    if (entry.backend === 'keychain') return await loadFromKeychain(entry.kid)
    if (entry.backend === 'environment') return environmentKey(config.key, entry.kid)
    return entry.salt === undefined
      ? await loadFromFile(entry.kid)
      : await derive(config.keyFile, entry.salt, entry.kid)
  }

  async function loadFromKeychain(kid: string): Promise<SealingKey> {
    const text = await keychain.read(`key:${kid}`)
    const key = text === null ? undefined : parseSealingKey(text, kid)
    if (key !== undefined) return key
    throw new CredentialError(
      'key_missing',
      text === null
        ? `The keychain answers, but does not show the key key:${kid} that the credentials were sealed with. It may be locked, or it was reset.`
        : `The keychain holds something else than the key that belongs under key:${kid}.`,
    )
  }

  async function loadFromFile(kid: string): Promise<SealingKey> {
    const text = await folder.read(keyFile)
    const key = text === undefined ? undefined : parseSealingKey(text, kid)
    if (key !== undefined) return key
    const path = join(folder.path, keyFile)
    throw new CredentialError(
      'key_missing',
      text === undefined
        ? `The key file ${path} is gone, and the credentials were sealed with it.`
        : `The key file ${path} does not hold the key that the credentials were sealed with.`,
    )
  }

  /** Under the lock of the index. `missing`: what the index names and no one needs any more. */
  async function choose(missing: KeyEntry | undefined): Promise<SealingKey> {
    const index = await readIndex()
    const chosen = index === undefined ? undefined : matching(config, index)
    if (index !== undefined && chosen !== undefined && chosen.kid !== missing?.kid) {
      const key = await load(chosen)
      if (chosen !== index.current)
        await folder.write(indexFile, writeKeyIndex(withCurrentKey(index, chosen)))
      return key
    }
    const { key, entry, line } = await makeKey(wanted(config) ?? missing?.backend)
    await folder.write(indexFile, writeKeyIndex(withCurrentKey(index, entry)))
    keys.set(key.kid, Promise.resolve(key))
    ports.announce(line)
    return key
  }

  async function makeKey(backend: Wanted | undefined): Promise<MadeKey> {
    if (backend === 'derived') return await makeDerivedKey(config.keyFile)
    if (backend === 'file') return await makeFileKey('')
    if (backend === 'environment') return takeEnvironmentKey(config.key)
    try {
      if (backend === undefined) await keychain.probe()
      const key = sealingKey(randomBytes(32))
      await keychain.write(`key:${key.kid}`, writeSealingKey(key))
      const line = 'Credentials are sealed with a key in the keychain of this computer.'
      return { key, entry: { backend: 'keychain', kid: key.kid }, line }
    } catch (error) {
      if (backend !== undefined || !(error instanceof CredentialError)) throw error
      return await makeFileKey(`${error.message} `)
    }
  }

  async function makeFileKey(why: string): Promise<MadeKey> {
    const existing = await folder.read(keyFile)
    const bytes = existing === undefined ? undefined : decodeBase64url(existing.trim())
    const key = sealingKey(bytes?.length === 32 ? bytes : randomBytes(32))
    if (bytes?.length !== 32) await folder.write(keyFile, `${writeSealingKey(key)}\n`)
    const path = join(folder.path, keyFile)
    const line = `${why}Credentials are sealed with a key in ${path}: whoever can read that file can read them.`
    return { key, entry: { backend: 'file', kid: key.kid }, line }
  }

  return {
    async sealing() {
      const index = await readIndex()
      const chosen = index === undefined ? undefined : matching(config, index)
      let missing: KeyEntry | undefined
      if (chosen !== undefined && chosen === index?.current) {
        try {
          return await load(chosen)
        } catch (error) {
          const isGone = error instanceof CredentialError && error.fault === 'key_missing'
          if (!isGone || (await ports.isNeeded(chosen.kid))) throw error
          missing = chosen
        }
      }
      return await ports.lock('index', { waitMs: lockMs }, () => choose(missing))
    },
    async opening(kid) {
      const index = await readIndex()
      const entry = index && [index.current, ...index.former].find((known) => known.kid === kid)
      if (entry !== undefined) return await load(entry)
      throw new CredentialError(
        'key_missing',
        `The stored login was sealed with the key ${kid}, which this computer does not know.`,
      )
    },
    async backend() {
      const index = await readIndex()
      return index === undefined ? undefined : (matching(config, index) ?? index.current).backend
    },
    async clear() {
      const index = await readIndex().catch(() => undefined)
      for (const entry of index === undefined ? [] : [index.current, ...index.former]) {
        // What cannot be reached now opens nothing any more.
        if (entry.backend === 'keychain') await keychain.remove(`key:${entry.kid}`).catch(() => undefined)
      }
      keys.clear()
      await folder.remove(indexFile)
      await folder.remove(keyFile)
    },
  }
}

type Wanted = KeyEntry['backend'] | 'derived'

interface MadeKey {
  key: SealingKey
  entry: KeyEntry
  /** For people: where it is. */
  line: string
}

/** What the configuration asks for; undefined when it leaves the choice. */
function wanted(config: CredentialsConfig): Wanted | undefined {
  if (config.backend === 'keychain') return 'keychain'
  if (config.key !== undefined) return 'environment'
  if (config.keyFile !== undefined) return 'derived'
  return config.backend === 'file' ? 'file' : undefined
}

function matching(config: CredentialsConfig, index: KeyIndex): KeyEntry | undefined {
  const kind = wanted(config)
  if (kind === undefined) return index.current
  return [index.current, ...index.former].find((entry) => kindOf(entry) === kind)
}

function kindOf(entry: KeyEntry): Wanted {
  return entry.salt === undefined ? entry.backend : 'derived'
}

function takeEnvironmentKey(text: string | undefined): MadeKey {
  const key = environmentKey(text, undefined)
  const line = 'Credentials are sealed with the key of DRAWBRIDGE_KEY: without it nobody can read them.'
  return { key, entry: { backend: 'environment', kid: key.kid }, line }
}

/** `kid`: the key that it has to be; undefined: any. */
function environmentKey(text: string | undefined, kid: string | undefined): SealingKey {
  const bytes = text === undefined ? undefined : decodeBase64url(text)
  const key = bytes?.length === 32 ? sealingKey(bytes) : undefined
  if (key !== undefined && (kid === undefined || key.kid === kid)) return key
  throw new CredentialError(
    'key_missing',
    text === undefined
      ? 'The credentials were sealed with the key of DRAWBRIDGE_KEY, and that is not set now.'
      : 'DRAWBRIDGE_KEY does not hold the key that the credentials were sealed with.',
  )
}

async function makeDerivedKey(path: string | undefined): Promise<MadeKey> {
  const salt = encodeBase64url(randomBytes(16))
  const key = await derive(path, salt, undefined)
  const line = `Credentials are sealed with a key derived from ${String(path)}.`
  return { key, entry: { backend: 'file', kid: key.kid, salt }, line }
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new CredentialError('key_missing', `The key file ${path} cannot be read.`, { cause: error })
  }
}

/** `kid`: the key that it has to be; undefined: any. */
async function derive(path: string | undefined, salt: string, kid: string | undefined): Promise<SealingKey> {
  if (path === undefined) {
    throw new CredentialError(
      'key_missing',
      'The credentials were sealed with a key derived from a key file (DRAWBRIDGE_KEY_FILE), and none is given now.',
    )
  }
  const passphrase = readKeyFile(path).trim()
  if (passphrase === '') throw new CredentialError('key_missing', `The key file ${path} is empty.`)
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    // 32 MiB and about 0.1 s: what it protects may be a short passphrase.
    scrypt(passphrase, salt, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 }, (error, derived) => {
      if (error === null) resolve(derived)
      else reject(error)
    })
  })
  const key = sealingKey(bytes)
  if (kid === undefined || key.kid === kid) return key
  throw new CredentialError(
    'key_missing',
    `The key file ${path} is not the one that the credentials were sealed with.`,
  )
}
