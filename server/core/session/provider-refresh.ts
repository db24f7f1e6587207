import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'
import { openSessionOf, sealProviderSession } from './session-seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** Longer than any single call to the provider, so that a slow holder gives up before another starts. */
const leaseSeconds = 15
/** Whoever asks the provider later than this after reading the clock may share the lease with the next holder. */
const longestDelaySeconds = 2
/** A session that is refused for this long, while others of the provider are renewed, is over. */
const refusedForGoodSeconds = 3600
/** How often a process records that the provider renews sessions. */
const renewalRecordSeconds = 60
const pausesBetweenSavesMs = [100, 300]
const mostUnsaved = 10_000

/** How one attempt to refresh a stored session ended. What is true now is in the store. */
export type RefreshOutcome =
  | { kind: 'refreshed' }
  | { kind: 'superseded' } // another instance was faster, or the grant has ended
  | { kind: 'ended' } // the provider's final word
  | { kind: 'held' } // another instance is asking the provider, or has just stored its answer, or may by now
  | { kind: 'unreadable' } // no key of the ring opens the session
  | { kind: 'foreign' } // another provider issued the session
  | { kind: 'unsaved' } // the provider answered, and the store cannot take it
  | { kind: 'failed'; error: ProviderError } // may succeed later

/** What an attempt tells the log. */
export type ProviderRefreshEvent =
  | 'provider_refreshed'
  | 'provider_session_ended' // the provider refused the session for good, and the grant with it is over
  | 'provider_refresh_lost' // the same, but an earlier answer got lost: it may have held the token that counts
  | 'provider_refresh_refused' // refused for an hour while others were renewed, so the grant is over
  | 'provider_session_unsaved' // what the provider issued is kept in this process until the store can be written

/** What an attempt needs from outside. `owner` names this process among the instances that share a store. */
export interface ProviderRefreshPorts {
  store: Pick<
    GrantStore,
    | 'leaseProviderSession'
    | 'releaseProviderSession'
    | 'saveProviderSession'
    | 'endRefusedSession'
    | 'recordProviderRenewal'
    | 'findProviderRenewal'
  >
  provider: Pick<SessionProvider, 'refresh'>
  /** The issuer of `provider`. A session that says it is of another one is never sent. */
  providerIssuer: string
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'sleep'>
  owner: string
  report: (event: ProviderRefreshEvent, grantId: string, error?: unknown) => void
}

/** Refreshes stored sessions, and keeps what the store cannot take. */
export interface ProviderRefresh {
  /** One attempt: lease, ask the provider, store. Not to be made twice at once for one grant by one process. */
  attempt(session: StoredProviderSession): Promise<RefreshOutcome>
  /** Stores what is kept here, one by one until one fails; answers how many are still kept. Never rejects. */
  saveUnsaved(): Promise<number>
}

/**
 * Creates the {@link ProviderRefresh}.
 *
 * Nothing is locked while the provider is asked, and every write is fenced by the version, so an attempt that was
 * overtaken changes nothing. A process that was paused between lease and request does not ask. What the provider issued
 * and the store could not take is kept here, sealed, and stored first by the next attempt: the provider may not say it
 * twice.
 *
 * A refusal that is neither final nor an outage ends the grant once the session has been refused for an hour, provided
 * that the provider has renewed another session since the first refusal: then the fault is with this one alone.
 */
export function createProviderRefresh(ports: ProviderRefreshPorts): ProviderRefresh {
  const { store, provider, providerIssuer, sealer, runtime, owner, report } = ports
  const unsaved = createBoundedMap<StoredProviderSession>(mostUnsaved)
  let renewalRecordedAt = Number.NEGATIVE_INFINITY

  async function attempt(session: StoredProviderSession): Promise<RefreshOutcome> {
    const { grantId, version } = session
    const issued = unsaved.get(grantId)
    if (issued) return save(issued)
    const opening = openSessionOf(providerIssuer, session, sealer)
    if (opening.kind !== 'opened') return opening
    const now = runtime.now()
    const lease = await store.leaseProviderSession(
      { grantId, version, owner, until: now + leaseSeconds },
      now,
    )
    if (lease.kind === 'held') return { kind: 'held' }
    if (runtime.now() - now > longestDelaySeconds) {
      await release({ grantId, outcomeKnown: true })
      return { kind: 'held' }
    }
    let refreshed: ProviderSession
    try {
      refreshed = await provider.refresh(opening.session)
    } catch (error) {
      return refuse(error, session, lease.attempt)
    }
    const row = { grantId, version: version + 1, issuedAt: runtime.now() }
    return save(sealProviderSession({ ...refreshed, issuer: providerIssuer }, row, sealer))
  }

  async function refuse(
    error: unknown,
    session: StoredProviderSession,
    attempts: number,
  ): Promise<RefreshOutcome> {
    const { grantId } = session
    if (!(error instanceof ProviderError)) {
      await release({ grantId, outcomeKnown: false })
      throw error
    }
    if (error.failure === 'terminal') {
      // It may be about a token that another instance has replaced meanwhile: the version decides.
      const ended = await store.endRefusedSession(session, 'provider_session_ended', runtime.now())
      if (!ended) return { kind: 'superseded' }
      report(attempts > 1 ? 'provider_refresh_lost' : 'provider_session_ended', grantId, error)
      return { kind: 'ended' }
    }
    const refusedAt = error.refused ? { refusedAt: runtime.now() } : {}
    const refusedSince = await release({ grantId, outcomeKnown: error.outcomeKnown, ...refusedAt })
    if (!error.refused || !(await isRefusedForGood(refusedSince))) return { kind: 'failed', error }
    if (await store.endRefusedSession(session, 'provider_refresh_refused', runtime.now())) {
      report('provider_refresh_refused', grantId, error)
      return { kind: 'ended' }
    }
    return { kind: 'superseded' }
  }

  async function isRefusedForGood(refusedSince: number | undefined): Promise<boolean> {
    if (refusedSince === undefined || runtime.now() - refusedSince < refusedForGoodSeconds) return false
    const renewedAt = await store.findProviderRenewal(providerIssuer)
    return renewedAt !== undefined && renewedAt > refusedSince
  }

  async function release(lease: {
    grantId: string
    outcomeKnown: boolean
    refusedAt?: number
  }): Promise<number | undefined> {
    try {
      return await store.releaseProviderSession({ ...lease, owner })
    } catch (error) {
      // The lease ends by itself.
      if (!(error instanceof StoreUnavailableError)) throw error
      return undefined
    }
  }

  // The lease is not given back when this fails: until it ends, no other instance presents the token that was used.
  async function save(session: StoredProviderSession): Promise<RefreshOutcome> {
    const { grantId } = session
    unsaved.set(grantId, session)
    for (const pauseMs of [...pausesBetweenSavesMs, undefined]) {
      try {
        return { kind: (await saveOnce(session)) ? 'refreshed' : 'superseded' }
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

  async function saveOnce(session: StoredProviderSession): Promise<boolean> {
    const { grantId } = session
    const saved = await store.saveProviderSession(session)
    // A later one may have taken its place meanwhile.
    if (unsaved.get(grantId) === session) unsaved.delete(grantId)
    if (saved) {
      report('provider_refreshed', grantId)
      await recordRenewal()
    }
    return saved
  }

  async function recordRenewal(): Promise<void> {
    const now = runtime.now()
    // A time that seems to be ahead was recorded before the clock was set back.
    if (now >= renewalRecordedAt && now - renewalRecordedAt < renewalRecordSeconds) return
    renewalRecordedAt = now
    // The next renewal does as well, and the session itself is stored.
    await store.recordProviderRenewal(providerIssuer, now).catch(() => undefined)
  }

  async function saveUnsaved(): Promise<number> {
    for (const session of unsaved.values()) {
      try {
        await saveOnce(session)
      } catch (error) {
        // Reported when it was kept. A store that is down is down for all of them.
        if (error instanceof StoreUnavailableError) break
      }
    }
    return unsaved.values().length
  }

  return { attempt, saveUnsaved }
}
