import type { StoredProviderSession } from './grant.ts'

/** Begins the lease owner of a command that re-seals: a server that starts beside it leaves its leases alone. */
export const resealOwnerPrefix = 'keys-rotate-'

/** What re-sealing under a new key needs to know about the sealed sessions of a store. */
export interface SealedSessionStore {
  /** The `kid` of every key that something stored is sealed with, in order. Cheap: called by readiness probes. */
  listSealingKeys(): Promise<string[]>
  /** Sessions sealed with the key `kid`, also ones that wait for their sign-out; by grant id, those after `after`. */
  listSessionsSealedWith(
    kid: string,
    page: { after: string; limit: number },
  ): Promise<StoredProviderSession[]>
}
