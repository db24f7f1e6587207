import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantStore } from '../session/grant.ts'
import { endAllGrants } from '../session/grant-pages.ts'
import type { ClientStore } from './client.ts'

/**
 * Deletes a client and ends its grants with `client_removed`, and with them its tokens and provider sessions. Returns whether the
 * client existed, and how many grants it had.
 *
 * Grants end first, so that the call can be repeated if it fails, and once more afterwards, for one that started in between:
 * without the client no new ones start.
 */
export async function removeClientWithGrants(
  id: string,
  {
    store,
    runtime,
  }: {
    store: Pick<ClientStore, 'removeClient'> & Pick<GrantStore, 'endGrants'>
    runtime: Pick<Runtime, 'now'>
  },
): Promise<{ removed: boolean; grantsEnded: number }> {
  let grantsEnded = 0
  const endAll = async (): Promise<void> => {
    for await (const _ of endAllGrants(store, { clientId: id }, 'client_removed', runtime.now()))
      grantsEnded += 1
  }
  await endAll()
  const removed = await store.removeClient(id)
  await endAll()
  return { removed, grantsEnded }
}
