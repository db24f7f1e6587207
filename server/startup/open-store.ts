import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { generatedKid, parseSecretKeys, type StoreAddress, keySourceOf } from '../config/store-address.ts'
import type { ServerConfig } from '../config/setting-table.ts'
import { fixedKeyRing, type KeyRing } from '../core/seal.ts'
import type { Store } from '../core/store.ts'
import { openPostgresStore } from '../store/postgres/postgres.ts'
import { createKeyFile, type KeyFileOptions, openKeyFile } from '../store/secret-key-file.ts'
import { openMemoryStore, openSqliteStore } from '../store/sqlite/sqlite.ts'

/**
 * Opens the store at `address`. `shared` is for a command next to a running server: SQLite is then opened without locking the file.
 * Does not detect an unreachable database; `prepare` does.
 */
export function openStore(address: StoreAddress, options: { shared?: boolean } = {}): Store {
  switch (address.kind) {
    case 'memory':
      return openMemoryStore()
    case 'sqlite':
      return openSqliteStore(address.path, options)
    case 'postgres':
      return openPostgresStore(address.url)
  }
}

/**
 * Opens the configured key ring, or a generated one next to the store: for the embedded provider, which stores nothing of value. A
 * ring in a file follows changes of the file, which are sent to `report`. Throws if there is no usable ring at start.
 */
export function openKeyRing(
  config: Pick<ServerConfig, 'secretKeys' | 'store'>,
  runtime: Pick<Runtime, 'now' | 'randomBytes'>,
  report?: KeyFileOptions['report'],
): KeyRing {
  const source = keySourceOf(config)
  if (source.kind === 'ring') return fixedKeyRing(source.keys)
  const generate = (kid: string): string => `${kid}:${encodeBase64url(runtime.randomBytes(32))}`
  if (source.kind === 'memory') return fixedKeyRing(parseSecretKeys(generate('memory')))
  if (source.generated) createKeyFile(source.path, () => generate(generatedKid))
  return openKeyFile(source.path, { parse: parseSecretKeys, now: runtime.now, ...(report && { report }) })
}

/** Rejects when a stored value is sealed with a key that is missing from the ring. */
export async function checkKeys(store: Store, ring: KeyRing): Promise<void> {
  const isMissing = (kid: string): boolean => ring.keys().every((key) => key.kid !== kid)
  const missing = (): Promise<string[]> =>
    store.listSealingKeys().then((kids) => kids.filter((kid) => isMissing(kid)))
  if ((await missing()).length === 0) return
  ring.refresh()
  const [kid] = await missing()
  if (kid !== undefined) throw new Error(`The key ring lacks ${kid}.`)
}
