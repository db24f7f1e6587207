import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Client, ClientStore } from './client.ts'
import type { Grant, GrantEndReason, GrantStore } from '../session/grant.ts'

const batch = 100

/** Dependencies of removing a client. */
export interface ClientRemovalPorts {
  store: Pick<ClientStore, 'removeClient'> & Pick<GrantStore, 'endGrants'>
  runtime: Pick<Runtime, 'now'>
}

/** Result of an operator's request to remove a client. */
export type ClientRemoval =
  | { kind: 'removed'; removed: boolean; grantsEnded: number }
  /** Only the operator's file can remove it. */
  | { kind: 'configured' }
  | { kind: 'unknown' }

/**
 * Calls {@link removeClientWithGrants} unless the client is `configured` or unknown. A client that was already removed but still
 * has grants counts as known: they end, and `removed` is false.
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
 * Deletes a client and ends its grants with `client_removed`, and with them its tokens and provider sessions. Returns whether the
 * client existed, and how many grants it had.
 *
 * Grants end first, so that the call can be repeated if it fails, and once more afterwards, for one that started in between:
 * without the client no new ones start.
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
