import { existsSync } from 'node:fs'
import type { Store } from '../core/store.ts'
import { openStore } from '../startup/open-store.ts'
import type { ServerConfig } from '../config/setting.ts'

/**
 * Runs `work` on the store of `config` as it is beside running servers; without one when it is a file that no server has
 * made yet. The store is closed at the end.
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
