import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { type SealingKey, parseSealingKey, sealingKey, writeSealingKey } from './credential-record.ts'
import {
  CredentialError,
  type CredentialStore,
  type CredentialsConfig,
  type KeyPlaceName,
} from './credential-store.ts'
import { type Keychain, createKeychain } from './keychain/keychain.ts'
import type { PrivateFolder } from './private-folder.ts'

const indexFile = 'index.json'
const indexVersion = 1
const lockMs = 20_000
/** A keychain that has just failed is not asked again for every message of a client. */
const failureMs = 3000

/** A key that seals or has sealed credentials. Nothing here is secret. */
interface KeyEntry {
  backend: KeyPlaceName
  kid: string
}

/** The current key, and those that records may still be sealed with. */
interface KeyIndex {
  current: KeyEntry
  former: readonly KeyEntry[]
}

/** A place where a key is kept. All methods reject with {@link CredentialError}. */
interface KeyPlace {
  /** Describes the place to the user. */
  readonly announcement: string
  /** Returns the stored text, which may be another key. */
  read(kid: string): Promise<string | undefined>
  /** Explains to the user that the key is not there. */
  missing(kid: string): string
  /** Creates a key, or takes the one that is there. */
  create(): Promise<SealingKey>
  remove(kid: string): Promise<unknown>
}

/** Dependencies of a key ring. */
interface KeyRingPorts {
  folder: PrivateFolder
  exclusively: CredentialStore['exclusively']
  announce(line: string): void
  /** Returns whether any stored record would be lost with that key. */
  isNeeded(kid: string): boolean
}

/**
 * The keys that seal credentials. Keeps to its first choice of a place: the configured one, the one in the index, the
 * keychain if it works, or a file. A chosen place that does not respond is an error and never a reason to choose another:
 * a second key would make the credentials look lost. Records sealed with older keys still open.
 */
export class KeyRing {
  readonly #ports: KeyRingPorts
  readonly #keychain: Keychain
  readonly #places: Record<KeyPlaceName, KeyPlace>
  /** The configured place; undefined when it is left open. */
  readonly #wanted: KeyPlaceName | undefined
  readonly #keys = new Map<string, Promise<SealingKey>>()

  constructor(config: CredentialsConfig, ports: KeyRingPorts) {
    const { backend, key } = config
    this.#ports = ports
    this.#keychain = createKeychain(config)
    this.#places = {
      keychain: keychainPlace(this.#keychain),
      file: filePlace(ports.folder),
      environment: environmentPlace(key),
    }
    if (backend === 'keychain') this.#wanted = 'keychain'
    else if (key !== undefined) this.#wanted = 'environment'
    else if (backend === 'file') this.#wanted = 'file'
  }

  /** Returns the current key. Chooses a place, creates the key and announces it if there is none yet. */
  async sealing(): Promise<SealingKey> {
    const index = this.#readIndex()
    const chosen = this.#chosenFrom(index)
    const isCurrent = chosen !== undefined && chosen === index?.current
    const key = isCurrent ? await this.#loadUnlessLost(chosen) : undefined
    return key ?? (await this.#ports.exclusively('index', { waitMs: lockMs }, () => this.#choose()))
  }

  /** Returns the key with that id, wherever it is kept. */
  async opening(kid: string): Promise<SealingKey> {
    const entry = entriesOf(this.#readIndex()).find((known) => known.kid === kid)
    if (entry !== undefined) return await this.#load(entry)
    throw missing(`The stored login was sealed with the key ${kid}, which this computer does not know.`)
  }

  /** Returns the place of the current key; undefined before there is one. */
  backend(): KeyPlaceName | undefined {
    const index = this.#readIndex()
    return (this.#chosenFrom(index) ?? index?.current)?.backend
  }

  /** Forgets the choice and every key. Records sealed with them can never be opened again. */
  async clear(): Promise<void> {
    let index: KeyIndex | undefined
    try {
      index = this.#readIndex()
    } catch {
      // A damaged index is cleared as well.
    }
    for (const { backend, kid } of entriesOf(index)) await this.#places[backend].remove(kid)
    await this.#places.file.remove('')
    this.#keys.clear()
    this.#ports.folder.remove(indexFile)
  }

  #chosenFrom(index: KeyIndex | undefined): KeyEntry | undefined {
    if (this.#wanted === undefined) return index?.current
    return entriesOf(index).find(({ backend }) => backend === this.#wanted)
  }

  #load({ backend, kid }: KeyEntry): Promise<SealingKey> {
    const known = this.#keys.get(kid)
    if (known !== undefined) return known
    const place = this.#places[backend]
    const loading = place.read(kid).then((text) => {
      const key = parseSealingKey(text ?? '')
      if (key?.kid === kid) return key
      throw missing(place.missing(kid))
    })
    this.#keys.set(kid, loading)
    loading.catch(() => {
      setTimeout(() => this.#keys.delete(kid), failureMs).unref()
    })
    return loading
  }

  /** Returns undefined for a key that is gone, if no record needs it. */
  async #loadUnlessLost(entry: KeyEntry): Promise<SealingKey | undefined> {
    try {
      return await this.#load(entry)
    } catch (error) {
      const isGone = error instanceof CredentialError && error.fault === 'key_missing'
      if (!isGone || this.#ports.isNeeded(entry.kid)) throw error
      return undefined
    }
  }

  /** Call with the lock of the index. */
  async #choose(): Promise<SealingKey> {
    const index = this.#readIndex()
    const chosen = this.#chosenFrom(index)
    const known = chosen && (await this.#loadUnlessLost(chosen))
    if (known !== undefined) {
      if (chosen !== index?.current) this.#writeIndex(index, chosen)
      return known
    }
    const { key, backend, line } = await this.#create(this.#wanted ?? chosen?.backend)
    this.#writeIndex(index, { backend, kid: key.kid })
    this.#keys.set(key.kid, Promise.resolve(key))
    this.#ports.announce(line)
    return key
  }

  async #create(
    backend: KeyPlaceName | undefined,
  ): Promise<{ key: SealingKey; backend: KeyPlaceName; line: string }> {
    if (backend !== undefined) {
      const place = this.#places[backend]
      return { key: await place.create(), backend, line: place.announcement }
    }
    try {
      await this.#keychain({ operation: 'probe' })
      return await this.#create('keychain')
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error
      const made = await this.#create('file')
      return { ...made, line: `${error.message} ${made.line}` }
    }
  }

  /** Throws `key_missing` when the index is damaged, as only it locates the keys, or `newer_version`. */
  #readIndex(): KeyIndex | undefined {
    const text = this.#ports.folder.read(indexFile)
    if (text === undefined) return undefined
    const value = parseJsonObject(text)
    const { version, former = [] } = value ?? {}
    if (typeof version === 'number' && version > indexVersion) {
      const message = `The credentials were written by a newer Drawbridge (format ${version}).`
      throw new CredentialError('newer_version', message)
    }
    const isIndex = version === indexVersion && Array.isArray(former) && former.every(isKeyEntry)
    if (!isIndex || !isKeyEntry(value)) throw missing('The list of keys (index.json) is damaged.')
    return { current: { backend: value.backend, kid: value.kid }, former }
  }

  #writeIndex(before: KeyIndex | undefined, current: KeyEntry | undefined): void {
    const former = entriesOf(before).filter(({ kid }) => kid !== current?.kid)
    this.#ports.folder.write(indexFile, JSON.stringify({ version: indexVersion, ...current, former }))
  }
}

function entriesOf(index: KeyIndex | undefined): readonly KeyEntry[] {
  return index === undefined ? [] : [index.current, ...index.former]
}

function isKeyEntry(value: unknown): value is KeyEntry {
  const { backend, kid } = isJsonObject(value) ? value : {}
  const isPlace = backend === 'keychain' || backend === 'file' || backend === 'environment'
  return isPlace && typeof kid === 'string'
}

function keychainPlace(keychain: Keychain): KeyPlace {
  const account = (kid: string): string => `key:${kid}`
  return {
    announcement: 'Credentials are sealed with a key in the keychain of this computer.',
    read: async (kid) => (await keychain({ operation: 'read', account: account(kid) })) ?? undefined,
    missing: (kid) =>
      `The keychain works, but does not return the key ${account(kid)} that the credentials were sealed with. It may be locked, or it was reset.`,
    async create() {
      const key = sealingKey(randomBytes(32))
      await keychain({ operation: 'write', account: account(key.kid), value: writeSealingKey(key) })
      return key
    },
    // An unreachable key opens nothing any more.
    remove: (kid) => keychain({ operation: 'remove', account: account(kid) }).catch(() => undefined),
  }
}

function filePlace(folder: PrivateFolder): KeyPlace {
  const name = 'key'
  const path = join(folder.path, name)
  return {
    announcement: `Credentials are sealed with a key in ${path}: anyone who can read that file can read them.`,
    read: async () => folder.read(name),
    missing: () => `The key that the credentials were sealed with is not in the key file ${path}.`,
    async create() {
      const existing = parseSealingKey(folder.read(name) ?? '')
      if (existing !== undefined) return existing
      const key = sealingKey(randomBytes(32))
      folder.write(name, `${writeSealingKey(key)}\n`)
      return key
    },
    remove: async () => folder.remove(name),
  }
}

function environmentPlace(text: string | undefined): KeyPlace {
  const other = 'DRAWBRIDGE_KEY does not hold the key that the credentials were sealed with.'
  const unset = 'The credentials were sealed with the key in DRAWBRIDGE_KEY, which is not set now.'
  return {
    announcement: 'Credentials are sealed with the key of DRAWBRIDGE_KEY: they cannot be read without it.',
    read: async () => text,
    missing: () => (text === undefined ? unset : other),
    async create() {
      const key = parseSealingKey(text ?? '')
      if (key === undefined) throw missing(other)
      return key
    },
    remove: async () => undefined,
  }
}

function missing(message: string): CredentialError {
  return new CredentialError('key_missing', message)
}
