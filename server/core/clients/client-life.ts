import { BoundedMap } from '../bounded-map.ts'
import type { Client, ClientStore } from './client.ts'

/** How long a registration is kept whose login page was never shown. */
export const unusedClientSeconds: number = 24 * 3600
/** How long one is kept after its login page was shown last: its client remembers it, and would present it for ever once it is gone. */
export const shownClientSeconds: number = 30 * 86_400

/** Time a client is kept after its last connection has ended. */
const keptSeconds = 90 * 86_400
/** How long a registration without a sign-in is kept at most: less than any that has been used. */
export const maxUnusedClientSeconds: number = keptSeconds
const maxRemembered = 1000

/** It no longer counts then, purged or not. */
export function isExpired({ expiresAt }: Pick<Client, 'expiresAt'>, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

/** True for a client in use: configured by the operator, or a user has signed in with it. */
export function isInUse({ kind, createdAt, expiresAt }: Client): boolean {
  switch (kind) {
    case 'configured':
    case 'service':
      return true
    case 'registered':
      return expiresAt === undefined || expiresAt > createdAt + maxUnusedClientSeconds
    case 'metadata_document':
      // Only documents of connected clients are stored, and expire.
      return expiresAt !== undefined
  }
}

/** True when this client registered itself and no user has signed in with it. */
export function isUnusedRegistration(client: Client): boolean {
  return client.kind === 'registered' && !isInUse(client)
}

/** Extends the lifetime of `client` to a grant that lives until `grantEndsAt` (epoch seconds), unless it already lasts that long. */
export type KeepClient = (client: Client, grantEndsAt: number) => Promise<void>

/**
 * Call it whenever tokens are issued: a registration no longer expires unused, and a document is stored from now on. If the store
 * fails in between, the next refresh makes up for it, long before the client would expire.
 */
export function createClientKeeper(store: Pick<ClientStore, 'keepClient' | 'putClient'>): KeepClient {
  // A document usually comes from memory, so its stored expiry may be later. A registration is always read from the store.
  const known = new BoundedMap<number>(maxRemembered)
  return async (client, grantEndsAt) => {
    const until = grantEndsAt + keptSeconds
    if (!mayExpire(client) || Math.max(client.expiresAt ?? 0, known.get(client.id) ?? 0) >= until) return
    if (client.expiresAt === undefined) await store.putClient({ ...client, expiresAt: until })
    await store.keepClient(client.id, until)
    if (client.kind === 'metadata_document') known.set(client.id, until)
  }
}

/** Configured clients do not expire; nor do registrations without an expiry. */
function mayExpire({ kind, expiresAt }: Client): boolean {
  return kind === 'metadata_document' || expiresAt !== undefined
}
