import { dirname, join, sep } from 'node:path'
import { parseList } from '@drawbridge/shared/settings/value.ts'
import type { SealingKey } from '../core/seal.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** Which store, and where. A Postgres URL may contain a password: never show it whole. */
export type StoreAddress =
  | { kind: 'memory' }
  | { kind: 'sqlite'; path: string }
  | { kind: 'postgres'; url: string }

/** `memory:`, `sqlite:PATH` or a `postgres:` URL. */
export function parseStore(text: string): StoreAddress {
  if (text === 'memory:') return { kind: 'memory' }
  if (/^postgres(?:ql)?:\/\/./.test(text) && isUrl(text)) return { kind: 'postgres', url: text }
  const path = /^sqlite:(.+)$/.exec(text)?.[1]
  if (path === undefined) throw new TypeError('expected sqlite:PATH, postgres://HOST/DATABASE or memory:')
  return { kind: 'sqlite', path: path.replaceAll('/', sep) }
}

/** The text form of a store's address, without user and password. */
export function storeName(store: StoreAddress): string {
  switch (store.kind) {
    case 'memory':
      return 'memory:'
    case 'sqlite':
      return `sqlite:${store.path}`
    case 'postgres': {
      const { host, pathname } = new URL(store.url)
      return `postgres://${host}${pathname}`
    }
  }
}

/** The file next to the store with accounts and sessions of the embedded provider, and the notes of its demo web app. */
export const embeddedDatabase = 'provider.db'

/** The name of a key that the server makes by itself, which only trials have. */
export const generatedKid = 'generated'

export type SecretKeySource = { kind: 'ring'; keys: readonly SealingKey[] } | { kind: 'file'; path: string }

/** The ring itself as {@link parseSecretKeys}, or `file:PATH` of a file that holds it. */
export function parseSecretKeySource(text: string): SecretKeySource {
  const path = /^file:(.+)$/.exec(text)?.[1]
  return path === undefined ? { kind: 'ring', keys: parseSecretKeys(text) } : { kind: 'file', path }
}

/** `kid:base64,...`: names of letters, digits, `-` and `_`, each with 32 bytes; the first one seals. */
export function parseSecretKeys(text: string): SealingKey[] {
  const ring = parseList(text).map((entry) => {
    const match = /^([A-Za-z0-9_-]{1,64}):([A-Za-z0-9+/_-]+={0,2})$/.exec(entry)
    const key = match ? new Uint8Array(Buffer.from(match[2] ?? '', 'base64')) : undefined
    if (!match || key?.length !== 32) throw new TypeError('expected kid:base64 with 32 bytes for each key')
    return { kid: match[1] ?? '', key }
  })
  if (ring.length === 0 || new Set(ring.map(({ kid }) => kid)).size !== ring.length) {
    throw new TypeError('expected at least one key, each with its own kid')
  }
  return ring
}

/** Where the key ring of a configuration is. The server writes a `generated` file at its first start. */
export type KeySource =
  | { kind: 'ring'; keys: readonly SealingKey[] }
  | { kind: 'file'; path: string; generated: boolean }
  /** A new ring at each start. */
  | { kind: 'memory' }

/** Where the key ring is: as configured, or next to the store. Does not check that it exists. */
export function keySourceOf({
  secretKeys,
  store,
}: {
  secretKeys: SecretKeySource | undefined
  store: StoreAddress
}): KeySource {
  if (secretKeys) return secretKeys.kind === 'file' ? { ...secretKeys, generated: false } : secretKeys
  if (store.kind !== 'sqlite') return { kind: 'memory' }
  return { kind: 'file', path: join(dirname(store.path), 'secret-keys'), generated: true }
}
