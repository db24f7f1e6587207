import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from './bounded-map.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { Sealer } from './seal.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'
import { openProviderSession, sealProviderSession } from './session-seal.ts'
import { StoreUnavailableError } from './store.ts'

/** Longer than any single call to the provider, so that a slow holder gives up before another starts. */
const leaseSeconds = 15
const pausesBetweenSavesMs = [100, 300]
const mostUnsaved = 10_000

/** How one attempt to refresh a stored session ended. What is true now is in the store. */
export type RefreshOutcome =
  | { kind: 'refreshed' }
  | { kind: 'superseded' } // another instance was faster, or the grant has ended
  | { kind: 'ended' } // the provider's final word
  | { kind: 'held' } // another instance is asking the provider, or has just stored its answer
  | { kind: 'unreadable' } // no key of the ring opens the session
  | { kind: 'unsaved' } // the provider answered, and the store cannot take it
  | { kind: 'failed'; error: ProviderError } // may succeed later

/** What an attempt tells the log. */
export type ProviderRefreshEvent =
  | 'provider_refreshed'
  | 'provider_session_ended' // the provider refused the session for good, and the grant with it is over
  | 'provider_refresh_lost' // the same, but an earlier answer got lost: it may have held the token that counts
  | 'provider_session_unsaved' // what the provider issued is kept in this process until the store can be written

/** What an attempt needs from outside. `owner` names this process among the instances that share a store. */
export interface ProviderRefreshPorts {
  store: Pick<
    GrantStore,
    'leaseProviderSession' | 'releaseProviderSession' | 'saveProviderSession' | 'endRefusedSession'
  >
  provider: Pick<SessionProvider, 'refresh'>
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'sleep'>
  owner: string
  report: (event: ProviderRefreshEvent, grantId: string, error?: unknown) => void
}

/**
 * Creates the function that makes one attempt to refresh a stored session: lease, ask the provider, store.
 *
 * Not to be called twice at once for one grant by one process. Nothing is locked while the provider is asked, and every
 * write is fenced by the version, so an attempt that was overtaken changes nothing. What the provider issued and the
 * store could not take is kept here, sealed, and stored first by the next attempt: the provider may not say it twice.
 */
export function createProviderRefresh(
  ports: ProviderRefreshPorts,
): (session: StoredProviderSession) => Promise<RefreshOutcome> {
  const { store, provider, sealer, runtime, owner, report } = ports
  const unsaved = createBoundedMap<StoredProviderSession>(mostUnsaved)

  async function attempt(session: StoredProviderSession): Promise<RefreshOutcome> {
    const { grantId, version } = session
    const issued = unsaved.get(grantId)
    if (issued) return save(issued)
    const opened = openProviderSession(session, sealer)
    if (!opened) return { kind: 'unreadable' }
    const now = runtime.now()
    const lease = await store.leaseProviderSession(
      { grantId, version, owner, until: now + leaseSeconds },
      now,
    )
    if (lease.kind === 'held') return { kind: 'held' }
    let refreshed: ProviderSession
    try {
      refreshed = await provider.refresh(opened)
    } catch (error) {
      return refuse(error, session, lease.attempt)
    }
    return save(
      sealProviderSession(refreshed, { grantId, version: version + 1, issuedAt: runtime.now() }, sealer),
    )
  }

  async function refuse(
    error: unknown,
    session: StoredProviderSession,
    attempts: number,
  ): Promise<RefreshOutcome> {
    const { grantId } = session
    if (error instanceof ProviderError && error.failure === 'terminal') {
      // It may be about a token that another instance has replaced meanwhile: the version decides.
      const ended = await store.endRefusedSession(session, runtime.now())
      if (!ended) return { kind: 'superseded' }
      report(attempts > 1 ? 'provider_refresh_lost' : 'provider_session_ended', grantId, error)
      return { kind: 'ended' }
    }
    await release(grantId, error instanceof ProviderError && error.outcomeKnown)
    if (error instanceof ProviderError) return { kind: 'failed', error }
    throw error
  }

  async function release(grantId: string, outcomeKnown: boolean): Promise<void> {
    try {
      await store.releaseProviderSession({ grantId, owner, outcomeKnown })
    } catch (error) {
      // The lease ends by itself.
      if (!(error instanceof StoreUnavailableError)) throw error
    }
  }

  // The lease is not given back when this fails: until it ends, no other instance presents the token that was used.
  async function save(session: StoredProviderSession): Promise<RefreshOutcome> {
    const { grantId } = session
    unsaved.set(grantId, session)
    for (const pauseMs of [...pausesBetweenSavesMs, undefined]) {
      try {
        const saved = await store.saveProviderSession(session)
        unsaved.delete(grantId)
        if (saved) report('provider_refreshed', grantId)
        return { kind: saved ? 'refreshed' : 'superseded' }
      } catch (error) {
        if (pauseMs !== undefined) {
          await runtime.sleep(pauseMs)
          continue
        }
        report('provider_session_unsaved', grantId, error)
        if (!(error instanceof StoreUnavailableError)) throw error
      }
    }
    return { kind: 'unsaved' }
  }

  return attempt
}
