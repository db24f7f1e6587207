import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Client, ClientStore } from './client.ts'
import type { Grant, GrantEndReason, GrantStore } from '../session/grant.ts'

const batch = 100

/** What removing a client needs. */
export interface ClientRemovalPorts {
  store: Pick<ClientStore, 'removeClient'> & Pick<GrantStore, 'endGrants'>
  runtime: Pick<Runtime, 'now'>
}

/** What an operator's wish to remove a client came to. */
export type ClientRemoval =
  | { kind: 'removed'; removed: boolean; grantsEnded: number }
  /** Its entry in the operator's file decides. */
  | { kind: 'configured' }
  | { kind: 'unknown' }

/**
 * {@link removeClientWithGrants} unless the client is `configured` or unknown. One that was removed before and still has grants is
 * known: they end, and `removed` is false.
 */
export async function removeKnownClient(
  id: string,
  { configured, ...ports }: ClientRemovalPorts & { configured: ReadonlyMap<string, Client> },
): Promise<ClientRemoval> {
  if (configured.has(id)) return { kind: 'configured' }
  const outcome = await removeClientWithGrants(id, ports)
  if (!outcome.removed && outcome.grantsEnded === 0) return { kind: 'unknown' }
  return { kind: 'removed', ...outcome }
}

/**
 * Deletes a client with everything that was allowed to it: its grants end with `client_removed`, and with them its tokens and
 * provider sessions. Answers whether there was such a client, and how many grants it had.
 *
 * Grants end first, so that the call can be repeated when it fails on the way, and once more afterwards, for one that began
 * in between: without the client none begins any more.
 */
export async function removeClientWithGrants(
  id: string,
  { store, runtime }: ClientRemovalPorts,
): Promise<{ removed: boolean; grantsEnded: number }> {
  const endAll = (): Promise<number> => endAllGrants({ clientId: id }, 'client_removed', { store, runtime })
  const before = await endAll()
  const removed = await store.removeClient(id)
  return { removed, grantsEnded: before + (await endAll()) }
}

async function endAllGrants(
  of: { clientId: string },
  reason: GrantEndReason,
  { store, runtime }: ClientRemovalPorts,
): Promise<number> {
  let ended = 0
  for (;;) {
    const grants: Grant[] = await store.endGrants(of, reason, { now: runtime.now(), limit: batch })
    ended += grants.length
    if (grants.length < batch) return ended
  }
}
