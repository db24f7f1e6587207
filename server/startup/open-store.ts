import type { StoreAddress } from '../config/config-value.ts'
import type { Store } from '../core/store.ts'
import { openMemoryStore, openSqliteStore } from '../store/sqlite/sqlite.ts'
import { openPostgresStore } from '../store/postgres/postgres.ts'

/**
 * The store at `address`. `shared` is for a command beside a running server: SQLite is then opened without claiming the
 * file. A database that cannot be reached is noticed by `prepare`, not here.
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
