import { createBoundedMap } from '../bounded-map.ts'
import type { Client, ClientStore } from './client.ts'

/** How long an unused registration lives. */
export const unusedClientSeconds: number = 24 * 3600

/** How long a client is kept after the last connection with it has ended. */
const keptSeconds = 90 * 86_400
const maxRemembered = 1000

/** Whether the time of a client is over at `now`: then it counts for nothing, collected or not. */
export function isExpired({ expiresAt }: Pick<Client, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

/** Whether a client is in use: configured by the operator, or a user has signed in with it. */
export function isInUse({ kind, document, createdAt, expiresAt }: Client): boolean {
  switch (kind) {
    case 'configured':
      return true
    case 'registered':
      return expiresAt === undefined || expiresAt > createdAt + unusedClientSeconds
    case 'metadata_document':
      // Without a document it is the operator's copy. Only documents of connected clients are stored, and so have an
      // end.
      return document === undefined || expiresAt !== undefined
  }
}

/** Whether this client registered itself and no user has signed in with it. */
export function isUnusedRegistration(client: Client): boolean {
  return client.kind === 'registered' && !isInUse(client)
}

/**
 * Extends the life of `client` to cover a grant that lives until `grantEndsAt` (epoch seconds), unless it does
 * already.
 */
export type KeepClient = (client: Client, grantEndsAt: number) => Promise<void>

/**
 * A {@link KeepClient}: a registration no longer expires unused, and a document is stored from now on. To be called whenever
 * tokens are issued. A grant may begin without it, when the process or the store dies in between: the next refresh makes up
 * for that, long before the client would be forgotten.
 */
export function createClientKeeper(store: Pick<ClientStore, 'keepClient' | 'putClient'>): KeepClient {
  // A document comes from memory mostly, so its end may be further off than it says. A registration is always read.
  const known = createBoundedMap<number>(maxRemembered)
  return async (client, grantEndsAt) => {
    const until = grantEndsAt + keptSeconds
    if (!mayExpire(client) || Math.max(client.expiresAt ?? 0, known.get(client.id) ?? 0) >= until) return
    if (client.expiresAt === undefined) await store.putClient({ ...client, expiresAt: until })
    await store.keepClient(client.id, until)
    if (client.kind === 'metadata_document') known.set(client.id, until)
  }
}

/** What is configured stays; so does a registration without an end, and a copy of the operator is at hand anyway. */
function mayExpire({ kind, document, expiresAt }: Client): boolean {
  return kind === 'metadata_document' ? document !== undefined : expiresAt !== undefined
}
