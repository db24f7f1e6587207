import { existsSync } from 'node:fs'
import type { Store } from '../core/store.ts'
import { openStore } from '../startup/open-store.ts'
import type { ServerConfig } from '../config/setting-table.ts'

/**
 * Runs `work` on the store of `config` beside running servers, then closes it. Passes undefined for a file that no server has
 * created yet.
 */
export async function withStore<Result>(
  { store: address }: Pick<ServerConfig, 'store'>,
  work: (store: Store | undefined) => Promise<Result>,
): Promise<Result> {
  if (address.kind === 'sqlite' && !existsSync(address.path)) return work(undefined)
  const store = openStore(address, { shared: true })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
