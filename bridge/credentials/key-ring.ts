import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { SealingKey } from './credential-record.ts'
import {
  CredentialError,
  type CredentialStore,
  type CredentialsConfig,
  type KeyPlaceName,
} from './credential-store.ts'
import type { KeyPlace } from './key-places.ts'
import type { Keychain } from './keychain/keychain.ts'
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

/** Dependencies of a key ring. */
export interface KeyRingPorts {
  folder: PrivateFolder
  exclusively: CredentialStore['exclusively']
  keychain: Keychain
  places: Record<KeyPlaceName, KeyPlace>
  announce(line: string): void
  /** Returns whether any stored record would be lost with that key. */
  isNeeded(kid: string): boolean
}

/**
 * The keys that seal credentials. Keeps to its first choice of a place: the configured one, or the one in the index,
 * or the keychain if it works, or a file. A chosen place that does not respond is an error and never a reason to
 * choose another: the credentials are still there, and a second key would make them look lost. A newly configured
 * place is used from then on, and records sealed with older keys still open. Rejects with {@link CredentialError}.
 */
export class KeyRing {
  readonly #ports: KeyRingPorts
  /** The configured place; undefined when it is left open. */
  readonly #wanted: KeyPlaceName | undefined
  readonly #keys = new Map<string, Promise<SealingKey>>()

  constructor({ backend, key }: CredentialsConfig, ports: KeyRingPorts) {
    this.#ports = ports
    if (backend === 'keychain') this.#wanted = 'keychain'
    else if (key !== undefined) this.#wanted = 'environment'
    else if (backend === 'file') this.#wanted = 'file'
  }

  /** Returns the current key. Chooses a place, creates the key and announces it if there is none yet. */
  async sealing(): Promise<SealingKey> {
    const index = this.#readIndex()
    const chosen = this.#chosenFrom(index)
    let lost: KeyEntry | undefined
    if (chosen !== undefined && chosen === index?.current) {
      try {
        return await this.#load(chosen)
      } catch (error) {
        const isGone = error instanceof CredentialError && error.fault === 'key_missing'
        if (!isGone || this.#ports.isNeeded(chosen.kid)) throw error
        lost = chosen
      }
    }
    return await this.#ports.exclusively('index', { waitMs: lockMs }, () => this.#choose(lost))
  }

  /** Returns the key with that id, wherever it is kept. */
  async opening(kid: string): Promise<SealingKey> {
    const entry = entriesOf(this.#readIndex()).find((known) => known.kid === kid)
    if (entry !== undefined) return await this.#load(entry)
    throw new CredentialError(
      'key_missing',
      `The stored login was sealed with the key ${kid}, which this computer does not know.`,
    )
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
    const { places, folder } = this.#ports
    for (const { backend, kid } of entriesOf(index)) await places[backend].remove(kid)
    await places.file.remove('')
    this.#keys.clear()
    folder.remove(indexFile)
  }

  #chosenFrom(index: KeyIndex | undefined): KeyEntry | undefined {
    if (this.#wanted === undefined) return index?.current
    return entriesOf(index).find(({ backend }) => backend === this.#wanted)
  }

  #load({ backend, kid }: KeyEntry): Promise<SealingKey> {
    const known = this.#keys.get(kid)
    if (known !== undefined) return known
    const loading = this.#ports.places[backend].load(kid)
    this.#keys.set(kid, loading)
    loading.catch(() => {
      setTimeout(() => this.#keys.delete(kid), failureMs).unref()
    })
    return loading
  }

  /** Call with the lock of the index. `lost`: an entry of the index that no record needs. */
  async #choose(lost: KeyEntry | undefined): Promise<SealingKey> {
    const index = this.#readIndex()
    const chosen = this.#chosenFrom(index)
    if (chosen !== undefined && chosen.kid !== lost?.kid) {
      const key = await this.#load(chosen)
      if (chosen !== index?.current) this.#writeIndex(index, chosen)
      return key
    }
    const { key, backend, line } = await this.#create(this.#wanted ?? lost?.backend)
    this.#writeIndex(index, { backend, kid: key.kid })
    this.#keys.set(key.kid, Promise.resolve(key))
    this.#ports.announce(line)
    return key
  }

  async #create(
    backend: KeyPlaceName | undefined,
  ): Promise<{ key: SealingKey; backend: KeyPlaceName; line: string }> {
    const { places, keychain } = this.#ports
    if (backend !== undefined) {
      return { key: await places[backend].create(), backend, line: places[backend].announcement }
    }
    try {
      await keychain.probe()
      return await this.#create('keychain')
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error
      const made = await this.#create('file')
      return { ...made, line: `${error.message} ${made.line}` }
    }
  }

  /**
   * Throws {@link CredentialError} `key_missing` when the index is damaged, as only it locates the keys, or
   * `newer_version` for a later version of Drawbridge.
   */
  #readIndex(): KeyIndex | undefined {
    const text = this.#ports.folder.read(indexFile)
    return text === undefined ? undefined : parseIndex(text)
  }

  #writeIndex(before: KeyIndex | undefined, current: KeyEntry): void {
    const former = entriesOf(before).filter(({ kid }) => kid !== current.kid)
    this.#ports.folder.write(indexFile, JSON.stringify({ version: indexVersion, ...current, former }))
  }
}

function entriesOf(index: KeyIndex | undefined): readonly KeyEntry[] {
  return index === undefined ? [] : [index.current, ...index.former]
}

function parseIndex(text: string): KeyIndex {
  const value = parseJsonObject(text)
  const version = value?.['version']
  if (typeof version === 'number' && version > indexVersion) {
    throw new CredentialError(
      'newer_version',
      `The credentials were written by a newer Drawbridge (format ${version}).`,
    )
  }
  const former = value?.['former'] ?? []
  if (version !== indexVersion || !isKeyEntry(value) || !Array.isArray(former) || !former.every(isKeyEntry)) {
    throw new CredentialError('key_missing', 'The list of keys (index.json) is damaged.')
  }
  return { current: { backend: value.backend, kid: value.kid }, former }
}

function isKeyEntry(value: unknown): value is KeyEntry {
  if (!isJsonObject(value)) return false
  const { backend, kid } = value
  return (
    (backend === 'keychain' || backend === 'file' || backend === 'environment') && typeof kid === 'string'
  )
}
