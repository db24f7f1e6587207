import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { type SealingKey, parseSealingKey, sealingKey, writeSealingKey } from './credential-record.ts'
import { CredentialError, type CredentialsConfig, type KeyPlaceName } from './credential-store.ts'
import type { Keychain } from './keychain/keychain.ts'
import type { PrivateFolder } from './private-folder.ts'

/** A place where a key is kept. All methods reject with {@link CredentialError}. */
export interface KeyPlace {
  /** Describes the place to the user. */
  readonly announcement: string
  /** Returns the key with that id. Rejects with `key_missing` when it is not there. */
  load(kid: string): Promise<SealingKey>
  /** Creates a key, or takes the one that is there. */
  create(): Promise<SealingKey>
  remove(kid: string): Promise<void>
}

/** Creates all places where a key can be. Touches none of them yet. */
export function createKeyPlaces(
  config: CredentialsConfig,
  folder: PrivateFolder,
  keychain: Keychain,
): Record<KeyPlaceName, KeyPlace> {
  return {
    keychain: keychainPlace(keychain),
    file: filePlace(folder),
    environment: environmentPlace(config.key),
  }
}

function keychainPlace(keychain: Keychain): KeyPlace {
  const account = (kid: string): string => `key:${kid}`
  return {
    announcement: 'Credentials are sealed with a key in the keychain of this computer.',
    async load(kid) {
      const text = await keychain.read(account(kid))
      if (text === null) {
        throw missing(
          `The keychain works, but does not return the key ${account(kid)} that the credentials were sealed with. It may be locked, or it was reset.`,
        )
      }
      const key = parseSealingKey(text)
      if (key?.kid === kid) return key
      throw missing(`The keychain entry ${account(kid)} is not the expected key.`)
    },
    async create() {
      const key = sealingKey(randomBytes(32))
      await keychain.write(account(key.kid), writeSealingKey(key))
      return key
    },
    // An unreachable key opens nothing any more.
    remove: (kid) => keychain.remove(account(kid)).catch(() => undefined),
  }
}

function filePlace(folder: PrivateFolder): KeyPlace {
  const name = 'key'
  const path = join(folder.path, name)
  return {
    announcement: `Credentials are sealed with a key in ${path}: anyone who can read that file can read them.`,
    async load(kid) {
      const text = folder.read(name)
      if (text === undefined) {
        throw missing(`The key file ${path} is gone, and the credentials were sealed with it.`)
      }
      const key = parseSealingKey(text)
      if (key?.kid === kid) return key
      throw missing(`The key file ${path} does not hold the key that the credentials were sealed with.`)
    },
    async create() {
      const existing = parseSealingKey(folder.read(name) ?? '')
      if (existing !== undefined) return existing
      const key = sealingKey(randomBytes(32))
      folder.write(name, `${writeSealingKey(key)}\n`)
      return key
    },
    async remove() {
      folder.remove(name)
    },
  }
}

function environmentPlace(text: string | undefined): KeyPlace {
  const key = parseSealingKey(text ?? '')
  const notThis = 'DRAWBRIDGE_KEY does not hold the key that the credentials were sealed with.'
  return {
    announcement: 'Credentials are sealed with the key of DRAWBRIDGE_KEY: they cannot be read without it.',
    async load(kid) {
      if (text === undefined) {
        throw missing('The credentials were sealed with the key in DRAWBRIDGE_KEY, which is not set now.')
      }
      if (key?.kid === kid) return key
      throw missing(notThis)
    },
    async create() {
      if (key === undefined) throw missing(notThis)
      return key
    },
    remove: async () => undefined,
  }
}

function missing(message: string): CredentialError {
  return new CredentialError('key_missing', message)
}
