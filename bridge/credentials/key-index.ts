import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { CredentialError } from './credential-store.ts'

const indexVersion = 1

/** A key that credentials are or were sealed with. `salt`: it is derived from a file of the user. Nothing here is secret. */
export interface KeyEntry {
  backend: 'keychain' | 'file' | 'environment'
  kid: string
  salt?: string
}

/** Which keys there are: the one in use, and those that records may still be sealed with. */
export interface KeyIndex {
  current: KeyEntry
  former: readonly KeyEntry[]
}

/** Text of `index.json`. */
export function writeKeyIndex(index: KeyIndex): string {
  return JSON.stringify({ version: indexVersion, ...index.current, former: index.former })
}

/**
 * Reads `index.json`. Throws {@link CredentialError} `key_missing` when it is damaged, as nothing else says where the keys
 * are, or `newer_version` for one of a later Drawbridge.
 */
export function parseKeyIndex(text: string): KeyIndex {
  const value = parseJsonObject(text)
  const version = value?.['version']
  if (typeof version === 'number' && version > indexVersion) {
    throw new CredentialError(
      'newer_version',
      `The credentials were written by a newer Drawbridge (format ${String(version)}).`,
    )
  }
  const current = parseEntry(value)
  const former = Array.isArray(value?.['former']) ? value['former'].map(parseEntry) : []
  if (version !== indexVersion || current === undefined || !former.every((entry) => entry !== undefined)) {
    throw new CredentialError('key_missing', 'The list of keys (index.json) is damaged.')
  }
  return { current, former }
}

/** The same keys with `entry` in use. */
export function withCurrentKey(index: KeyIndex | undefined, entry: KeyEntry): KeyIndex {
  const all = index === undefined ? [] : [index.current, ...index.former]
  return { current: entry, former: all.filter((other) => other.kid !== entry.kid) }
}

function parseEntry(value: unknown): KeyEntry | undefined {
  if (!isJsonObject(value)) return undefined
  const { backend, kid, salt } = value
  const isKnown = backend === 'keychain' || backend === 'file' || backend === 'environment'
  if (!isKnown || typeof kid !== 'string') return undefined
  return { backend, kid, ...(typeof salt === 'string' ? { salt } : {}) }
}
