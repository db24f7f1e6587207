import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import { openProviderSession, sealProviderSession } from './session-seal.ts'

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

/** As for a refresh: after this time the right to write is lost. */
const leaseSeconds = 15
const pageSize = 200
/** Sessions processed at once: enough to share commits, few enough to leave the servers their turn. */
const width = 64

/** What re-sealing needs from outside. */
export interface ResealPorts {
  store: SealedSessionStore &
    Pick<
      GrantStore,
      'findProviderSession' | 'leaseProviderSession' | 'releaseProviderSession' | 'saveProviderSession'
    >
  sealer: Sealer
  /** The key that `sealer` seals with. */
  kid: string
  runtime: Pick<Runtime, 'now'>
  /** Names this run among all that lease sessions. */
  owner: string
  /** True when the rest is to be left as it is. */
  isStopped?: () => boolean
}

/** What one round came to, in sessions. */
export interface ResealCounts {
  resealed: number
  /** In use by another process, or due to appear in the next round. */
  skipped: number
  /**
   * The outcome of an earlier refresh is unknown: a server may still hold the newer tokens, which writing here would
   * void. Its next refresh seals it with the new key.
   */
  unsettled: number
  /** No key of the ring opens it. It is left as it is: its key may come back. */
  unreadable: number
}

/**
 * Re-seals, once, every stored provider session that was sealed with another key than `kid`.
 *
 * Servers may serve and refresh meanwhile. Each session is leased first, as for a refresh, so no response of the
 * provider is on its way while its version changes, and it is written by compare-and-swap. Stopping at any point
 * loses nothing. Rejects with what the store rejects with.
 */
export async function resealSessions(ports: ResealPorts): Promise<ResealCounts> {
  const counts: ResealCounts = { resealed: 0, skipped: 0, unsettled: 0, unreadable: 0 }
  const kids = await ports.store.listSealingKeys()
  for (const kid of kids.filter((candidate) => candidate !== ports.kid)) {
    for await (const sessions of listBatches(kid, ports)) {
      const outcomes = await Promise.all(sessions.map((session) => resealSession(session, ports)))
      for (const outcome of outcomes) counts[outcome] += 1
    }
  }
  return counts
}

async function* listBatches(
  kid: string,
  { store, isStopped }: ResealPorts,
): AsyncGenerator<readonly StoredProviderSession[]> {
  let after = ''
  for (;;) {
    const page = await store.listSessionsSealedWith(kid, { after, limit: pageSize })
    for (let first = 0; first < page.length; first += width) {
      if (isStopped?.()) return
      yield page.slice(first, first + width)
    }
    after = page.at(-1)?.grantId ?? after
    if (page.length < pageSize) return
  }
}

async function resealSession(
  session: StoredProviderSession,
  ports: ResealPorts,
): Promise<keyof ResealCounts> {
  const { store, sealer, runtime, owner } = ports
  const { grantId, version, issuedAt } = session
  const opened = openProviderSession(session, sealer)
  if (!opened) return 'unreadable'
  const resealed = sealProviderSession(opened, { grantId, version: version + 1, issuedAt }, sealer)
  const now = runtime.now()
  const lease = await store.leaseProviderSession({ grantId, version, owner, until: now + leaseSeconds }, now)
  if (lease.kind === 'held') {
    await resealForSignOut(resealed, ports)
    return 'skipped'
  }
  if (lease.attempt > 1) {
    await release(grantId, ports)
    return 'unsettled'
  }
  // Late in the lease, the next holder may be asking the provider by the time this is written.
  const isInTime = runtime.now() - now <= leaseSeconds / 3
  if (isInTime && (await store.saveProviderSession(resealed))) return 'resealed'
  await release(grantId, ports)
  return 'skipped'
}

// The provider was not asked, so the outcome of this lease is known; that of earlier leases stays as it was.
async function release(grantId: string, { store, owner }: ResealPorts): Promise<void> {
  await store.releaseProviderSession({ grantId, owner, outcomeKnown: true })
}

// The session of an ended grant cannot be leased, and no connection depends on it: the version check is enough. The
// next round shows whether it was replaced.
async function resealForSignOut(resealed: StoredProviderSession, { store }: ResealPorts): Promise<void> {
  const isOfLiveGrant = (await store.findProviderSession(resealed.grantId)) !== undefined
  if (!isOfLiveGrant) await store.saveProviderSession(resealed)
}
