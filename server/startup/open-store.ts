import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { parseSecretKeys, type StoreAddress } from '../config/store-address.ts'
import { keySourceOf } from '../config/store-address.ts'
import type { ServerConfig } from '../config/setting.ts'
import { fixedKeyRing, type KeyRing } from '../core/seal.ts'
import type { Store } from '../core/store.ts'
import { openPostgresStore } from '../store/postgres/postgres.ts'
import { type KeyFileOptions, openKeyFile, readOrCreateSecretKeys } from '../store/secret-key-file.ts'
import { openMemoryStore, openSqliteStore } from '../store/sqlite/sqlite.ts'

/**
 * The store at `address`. `shared` is for a command next to a running server: SQLite is then opened without locking the
 * file. An unreachable database is noticed by `prepare`, not here.
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
 * The configured key ring, or a generated one next to the store: for the embedded provider, which holds nothing of value.
 * A ring in a file follows changes of the file, which go to `report`. Throws when there is no usable ring at first.
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
  if (source.generated) readOrCreateSecretKeys(source.path, () => generate('generated'))
  return openKeyFile(source.path, { parse: parseSecretKeys, now: runtime.now, ...(report && { report }) })
}
