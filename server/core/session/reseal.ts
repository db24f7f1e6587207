import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { pagesOf } from '../paging.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import { openProviderSession, sealProviderSession } from './session-seal.ts'

export interface SealedSessionStore {
  /** Returns the `kid` of every key in use by stored values, in order. Cheap: readiness probes call it. */
  listSealingKeys(): Promise<string[]>
  /** Lists sessions sealed with the key `kid`, including those waiting for sign-out; by grant id, starting after `after`. */
  listSessionsSealedWith(
    kid: string,
    page: { after: string; limit: number },
  ): Promise<StoredProviderSession[]>
}

/** Same as for a refresh. The right to write expires after this time. */
const leaseSeconds = 15
/** Concurrent sessions: enough to share commits, few enough not to starve the servers. */
const width = 64

export interface ResealPorts {
  store: SealedSessionStore & GrantStore
  sealer: Sealer
  kid: string
  runtime: Pick<Runtime, 'now' | 'sleep'>
  owner: string
  isStopped?: () => boolean
}

export interface ResealCounts {
  resealed: number
  /** In use by another process, or due in the next round. */
  skipped: number
  /** An earlier refresh may have brought a server newer tokens, which writing would void. Its next refresh seals them with the new key. */
  unsettled: number
  /** No key of the ring opens it. Left unchanged: its key may come back. */
  unreadable: number
}

/**
 * Re-seals, once, every stored provider session sealed with a key other than `kid`.
 *
 * Servers may serve and refresh in the meantime. Each session is leased first, as for a refresh, so its version does not change
 * while a provider response is pending, and it is written by compare-and-swap. Stopping at any point loses nothing. Rejects if the
 * store does.
 */
export async function resealSessions(ports: ResealPorts): Promise<ResealCounts> {
  const { store, runtime, isStopped } = ports
  const counts: ResealCounts = { resealed: 0, skipped: 0, unsettled: 0, unreadable: 0 }
  const kids = await store.listSealingKeys()
  for (const kid of kids.filter((candidate) => candidate !== ports.kid)) {
    const list = store.listSessionsSealedWith.bind(store, kid)
    for await (const page of pagesOf(list, ({ grantId }) => grantId, runtime)) {
      for (let first = 0; first < page.length; first += width) {
        if (isStopped?.()) return counts
        const batch = page.slice(first, first + width)
        const outcomes = await Promise.all(batch.map((session) => resealSession(session, ports)))
        for (const outcome of outcomes) counts[outcome] += 1
      }
    }
  }
  return counts
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
  // Late in the lease, the next owner may be asking the provider by the time this is written.
  const isInTime = runtime.now() - now <= leaseSeconds / 3
  if (isInTime && (await store.saveProviderSession(resealed))) return 'resealed'
  await release(grantId, ports)
  return 'skipped'
}

// The provider was not asked, so the outcome of this lease is known. The outcome of earlier leases does not change.
async function release(grantId: string, { store, owner }: ResealPorts): Promise<void> {
  await store.releaseProviderSession({ grantId, owner, outcomeKnown: true })
}

// The session of an ended grant cannot be leased, and no connection depends on it: the version check suffices. The next round shows
// whether it was replaced.
async function resealForSignOut(resealed: StoredProviderSession, { store }: ResealPorts): Promise<void> {
  const isOfLiveGrant = (await store.findProviderSession(resealed.grantId)) !== undefined
  if (!isOfLiveGrant) await store.saveProviderSession(resealed)
}
