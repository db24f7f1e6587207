import type { StoredProviderSession } from './grant.ts'

/** A provider session that nobody uses any more and that has to be ended at the provider. */
export interface PendingSignOut {
  session: StoredProviderSession
  /** How often it was claimed, this time included. */
  attempts: number
  /** When it became due first, epoch seconds. */
  since: number
}

/** The outbox of sign-outs. Rows come from ended and expired grants, unredeemed codes and abandoned second factors. */
export interface SignOutStore {
  /** Takes up to `limit` due ones; nobody else gets them before `until`, so one that dies with its worker comes back. */
  claimSignOuts(claim: { limit: number; until: number }, now: number): Promise<PendingSignOut[]>
  /** Tries again from `dueAt` on. */
  postponeSignOut(grantId: string, dueAt: number): Promise<void>
  /** Done or given up. */
  removeSignOut(grantId: string): Promise<void>
}
