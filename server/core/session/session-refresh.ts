import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { GrantStore, RefusedSessionReason, StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import {
  ProviderError,
  type ProviderSession,
  type Refusal,
  type SessionProvider,
} from './session-provider.ts'
import { sealProviderSession } from './session-seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** Longer than any single call to the provider, so that a slow owner gives up before the next one starts. */
const leaseSeconds = 15
/** A request sent later than this after leasing could overlap with the next owner's. */
const maxDelaySeconds = 2
/** A session refused for this long, while the provider renews others, is over. */
const refusedForGoodSeconds = 3600
const renewalRecordSeconds = 60
const pausesBetweenSavesMs = [100, 300]
const maxUnsaved = 10_000

/** Result of one attempt to refresh a stored session. The store has the current state. */
export type RefreshOutcome =
  | { kind: 'refreshed' }
  | { kind: 'superseded' } // another instance was faster, or the grant has ended
  | { kind: 'held' } // another instance is asking the provider, or has just stored its response, or may have by now
  | { kind: 'unsaved' } // the provider responded, but the store cannot save it
  | { kind: 'failed'; error: ProviderError } // may succeed later

/** Dependencies of the keeper and its parts. `owner` identifies this process among the instances that share a store. */
export interface SessionKeeperPorts {
  store: GrantStore
  provider: Pick<SessionProvider, 'refresh' | 'probe'>
  /** The issuer of `provider`. A session of another issuer is never sent. */
  providerIssuer: string
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'sleep'>
  owner: string
  /** How long a `probe` result is trusted; undefined: sessions are never probed. */
  checkSeconds: number | undefined
  /** Returns whether a new session has no claims about its user until it is probed. */
  mustProbeNew?: () => boolean
  /** `grantId` is undefined for events about the provider as a whole. */
  report: (event: SessionKeeperEvent, grantId: string | undefined, error?: unknown) => void
}

export type SessionKeeperEvent =
  | 'provider_refreshed'
  | 'provider_session_ended' // the provider refused the session for good, and the grant with it is over
  | 'provider_refresh_lost' // the same, but an earlier response was lost: it may have held the current token
  | 'provider_refresh_refused' // refused for an hour while others were renewed, which ended the grant
  | 'provider_session_unsaved' // what the provider issued is kept in this process until the store is writable
  | 'provider_sessions_lost' // the store was down to the end: what the provider issued is lost with this process
  | 'provider_refresh_failed' // the provider returned no session when asked; it is not asked again for a while
  | 'provider_probe_failed' // the provider did not say whether a session is live; probes pause for a while
  | 'provider_session_unreadable' // the key that sealed a session is missing from the ring
  | 'grant_of_other_provider' // another provider issued the session, which is not sent to this one; reported once each

/**
 * Refreshes stored sessions, and keeps those that the store cannot save.
 *
 * Holds no lock while the provider is asked. Every write is fenced by the version, so an overtaken attempt changes nothing. A
 * process that was paused between lease and request does not send it. A session that the provider issued and the store could not
 * save is kept here, sealed, and stored first by the next attempt: the provider may not issue it again.
 *
 * A refusal that is neither final nor an outage ends the grant once the session has been refused for an hour, provided that the
 * provider has renewed another session since the first refusal: then the fault lies with this session alone. A refusal by status
 * alone may be about a process, by its secret or its address: then this process must have renewed the other session, just before.
 */
export class SessionRefresh {
  readonly #ports: SessionKeeperPorts
  readonly #unsaved = new BoundedMap<StoredProviderSession>(maxUnsaved)
  #renewalRecordedAt = Number.NEGATIVE_INFINITY
  /** When this process last renewed a session; undefined once a later refresh has failed. */
  #renewedAt: number | undefined

  constructor(ports: SessionKeeperPorts) {
    this.#ports = ports
  }

  /** Leases, asks the provider with `tokens`, and stores. Must not run twice at once for one grant in one process. */
  async attempt(session: StoredProviderSession, tokens: ProviderSession): Promise<RefreshOutcome> {
    const { store, provider, providerIssuer, sealer, runtime, owner } = this.#ports
    const { grantId, version } = session
    const issued = this.#unsaved.get(grantId)
    if (issued) return this.#save(issued)
    const now = runtime.now()
    const until = now + leaseSeconds
    const lease = await store.leaseProviderSession({ grantId, version, owner, until }, now)
    if (lease.kind === 'held') return lease
    if (runtime.now() - now > maxDelaySeconds) {
      await this.#release({ grantId, outcomeKnown: true })
      return { kind: 'held' }
    }
    let refreshed: ProviderSession
    try {
      refreshed = await provider.refresh(tokens)
    } catch (error) {
      return this.#refuse(error, session, lease.attempt)
    }
    this.#renewedAt = runtime.now()
    const row = { grantId, version: version + 1, issuedAt: this.#renewedAt }
    return this.#save(sealProviderSession({ ...refreshed, issuer: providerIssuer }, row, sealer))
  }

  async #refuse(error: unknown, session: StoredProviderSession, attempts: number): Promise<RefreshOutcome> {
    const { grantId } = session
    if (!(error instanceof ProviderError)) {
      await this.#release({ grantId, outcomeKnown: false })
      throw error
    }
    if (error.failure === 'terminal') {
      const event = attempts > 1 ? 'provider_refresh_lost' : 'provider_session_ended'
      return this.#end(session, 'provider_session_ended', event, error)
    }
    const refusedAt = error.refused ? { refusedAt: this.#ports.runtime.now() } : {}
    const refusedSince = await this.#release({ grantId, outcomeKnown: error.outcomeKnown, ...refusedAt })
    if (error.refused && (await this.#isRefusedForGood(error.refused, refusedSince))) {
      return this.#end(session, 'provider_refresh_refused', 'provider_refresh_refused', error)
    }
    this.#renewedAt = undefined
    return { kind: 'failed', error }
  }

  /** Ends the grant, unless another instance has replaced the refused session: the version decides. */
  async #end(
    session: StoredProviderSession,
    reason: RefusedSessionReason,
    event: SessionKeeperEvent,
    error: ProviderError,
  ): Promise<RefreshOutcome> {
    const { store, runtime, report } = this.#ports
    if (await store.endRefusedSession(session, reason, runtime.now())) report(event, session.grantId, error)
    return { kind: 'superseded' }
  }

  async #isRefusedForGood(refusal: Refusal, refusedSince: number | undefined): Promise<boolean> {
    const { store, runtime, providerIssuer } = this.#ports
    if (refusedSince === undefined || runtime.now() - refusedSince < refusedForGoodSeconds) return false
    const renewedAt =
      refusal === 'by_code' ? await store.findProviderRenewal(providerIssuer) : this.#renewedAt
    return renewedAt !== undefined && renewedAt > refusedSince
  }

  async #release(
    lease: Omit<Parameters<GrantStore['releaseProviderSession']>[0], 'owner'>,
  ): Promise<number | undefined> {
    try {
      return await this.#ports.store.releaseProviderSession({ ...lease, owner: this.#ports.owner })
    } catch (error) {
      // The lease expires by itself.
      if (!(error instanceof StoreUnavailableError)) throw error
      return undefined
    }
  }

  // Keeps the lease on failure: until it ends, no other instance presents the used token.
  async #save(session: StoredProviderSession): Promise<RefreshOutcome> {
    const { grantId } = session
    this.#unsaved.set(grantId, session)
    for (const pauseMs of [...pausesBetweenSavesMs, undefined]) {
      try {
        return { kind: (await this.#saveOnce(session)) ? 'refreshed' : 'superseded' }
      } catch (error) {
        if (pauseMs !== undefined) {
          await this.#ports.runtime.sleep(pauseMs)
          continue
        }
        this.#ports.report('provider_session_unsaved', grantId, error)
        if (!(error instanceof StoreUnavailableError)) throw error
      }
    }
    return { kind: 'unsaved' }
  }

  async #saveOnce(session: StoredProviderSession): Promise<boolean> {
    const { grantId } = session
    const saved = await this.#ports.store.saveProviderSession(session)
    // A later one may have replaced it.
    if (this.#unsaved.get(grantId) === session) this.#unsaved.delete(grantId)
    if (saved) {
      this.#ports.report('provider_refreshed', grantId)
      await this.#recordRenewal()
    }
    return saved
  }

  async #recordRenewal(): Promise<void> {
    const { store, runtime, providerIssuer } = this.#ports
    const now = runtime.now()
    // A time in the future was recorded before the clock was set back.
    if (now >= this.#renewalRecordedAt && now - this.#renewalRecordedAt < renewalRecordSeconds) return
    this.#renewalRecordedAt = now
    // The next renewal will record it, and the session itself is stored.
    await store.recordProviderRenewal(providerIssuer, now).catch(() => undefined)
  }

  /** Stores the kept sessions one by one until one fails; returns how many are left. Never rejects. */
  async saveUnsaved(): Promise<number> {
    for (const session of this.#unsaved.values()) {
      try {
        await this.#saveOnce(session)
      } catch (error) {
        // Already reported. A store that is down is down for all of them.
        if (error instanceof StoreUnavailableError) break
      }
    }
    return this.#unsaved.values().length
  }
}
