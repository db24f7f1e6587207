import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'
import { openSessionOf, sealProviderSession } from './session-seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** Longer than any single call to the provider, so that a slow owner gives up before the next one starts. */
const leaseSeconds = 15
/** A request sent later than this after leasing could overlap with the next owner's. */
const maxDelaySeconds = 2
/** A session refused for this long, while the provider renews others, is over. */
const refusedForGoodSeconds = 3600
/** Interval at which a process records that the provider renews sessions. */
const renewalRecordSeconds = 60
const pausesBetweenSavesMs = [100, 300]
const maxUnsaved = 10_000

/** Result of one attempt to refresh a stored session. The store has the current state. */
export type RefreshOutcome =
  | { kind: 'refreshed' }
  | { kind: 'superseded' } // another instance was faster, or the grant has ended
  | { kind: 'ended' } // the provider's final word
  | { kind: 'held' } // another instance is asking the provider, or has just stored its response, or may have by now
  | { kind: 'unreadable' } // no key of the ring opens the session
  | { kind: 'foreign' } // another provider issued the session
  | { kind: 'unsaved' } // the provider responded, but the store cannot save it
  | { kind: 'failed'; error: ProviderError } // may succeed later

export type SessionRefreshEvent =
  | 'provider_refreshed'
  | 'provider_session_ended' // the provider refused the session for good, and the grant with it is over
  | 'provider_refresh_lost' // the same, but an earlier response was lost: it may have held the current token
  | 'provider_refresh_refused' // refused for an hour while others were renewed, which ended the grant
  | 'provider_session_unsaved' // what the provider issued is kept in this process until the store is writable

/** Dependencies of an attempt. `owner` identifies this process among the instances that share a store. */
export interface SessionRefreshPorts {
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
  /** The issuer of `provider`. A session of another issuer is never sent. */
  providerIssuer: string
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'sleep'>
  owner: string
  report: (event: SessionRefreshEvent, grantId: string, error?: unknown) => void
}

/**
 * Refreshes stored sessions, and keeps those that the store cannot save.
 *
 * Holds no lock while the provider is asked. Every write is fenced by the version, so an overtaken attempt changes nothing. A
 * process that was paused between lease and request does not send it. A session that the provider issued and the store could not
 * save is kept here, sealed, and stored first by the next attempt: the provider may not issue it again.
 *
 * A refusal that is neither final nor an outage ends the grant once the session has been refused for an hour, provided that the
 * provider has renewed another session since the first refusal: then the fault lies with this session alone.
 */
export class SessionRefresh {
  readonly #ports: SessionRefreshPorts
  readonly #unsaved = new BoundedMap<StoredProviderSession>(maxUnsaved)
  #renewalRecordedAt = Number.NEGATIVE_INFINITY

  constructor(ports: SessionRefreshPorts) {
    this.#ports = ports
  }

  /** Makes one attempt: lease, ask the provider, store. Must not run twice at once for one grant in one process. */
  async attempt(session: StoredProviderSession): Promise<RefreshOutcome> {
    const { grantId, version } = session
    const issued = this.#unsaved.get(grantId)
    if (issued) return this.#save(issued)
    const opening = openSessionOf(this.#ports.providerIssuer, session, this.#ports.sealer)
    if (opening.kind !== 'opened') return opening
    const now = this.#ports.runtime.now()
    const lease = await this.#ports.store.leaseProviderSession(
      { grantId, version, owner: this.#ports.owner, until: now + leaseSeconds },
      now,
    )
    if (lease.kind === 'held') return { kind: 'held' }
    if (this.#ports.runtime.now() - now > maxDelaySeconds) {
      await this.#release({ grantId, outcomeKnown: true })
      return { kind: 'held' }
    }
    let refreshed: ProviderSession
    try {
      refreshed = await this.#ports.provider.refresh(opening.session)
    } catch (error) {
      return this.#refuse(error, session, lease.attempt)
    }
    const row = { grantId, version: version + 1, issuedAt: this.#ports.runtime.now() }
    return this.#save(
      sealProviderSession({ ...refreshed, issuer: this.#ports.providerIssuer }, row, this.#ports.sealer),
    )
  }

  async #refuse(error: unknown, session: StoredProviderSession, attempts: number): Promise<RefreshOutcome> {
    const { grantId } = session
    if (!(error instanceof ProviderError)) {
      await this.#release({ grantId, outcomeKnown: false })
      throw error
    }
    if (error.failure === 'terminal') {
      // It may concern a token that another instance has since replaced: the version decides.
      const ended = await this.#ports.store.endRefusedSession(
        session,
        'provider_session_ended',
        this.#ports.runtime.now(),
      )
      if (!ended) return { kind: 'superseded' }
      this.#ports.report(attempts > 1 ? 'provider_refresh_lost' : 'provider_session_ended', grantId, error)
      return { kind: 'ended' }
    }
    const refusedAt = error.refused ? { refusedAt: this.#ports.runtime.now() } : {}
    const refusedSince = await this.#release({ grantId, outcomeKnown: error.outcomeKnown, ...refusedAt })
    if (!error.refused || !(await this.#isRefusedForGood(refusedSince))) return { kind: 'failed', error }
    if (
      await this.#ports.store.endRefusedSession(
        session,
        'provider_refresh_refused',
        this.#ports.runtime.now(),
      )
    ) {
      this.#ports.report('provider_refresh_refused', grantId, error)
      return { kind: 'ended' }
    }
    return { kind: 'superseded' }
  }

  async #isRefusedForGood(refusedSince: number | undefined): Promise<boolean> {
    if (refusedSince === undefined || this.#ports.runtime.now() - refusedSince < refusedForGoodSeconds)
      return false
    const renewedAt = await this.#ports.store.findProviderRenewal(this.#ports.providerIssuer)
    return renewedAt !== undefined && renewedAt > refusedSince
  }

  async #release(lease: {
    grantId: string
    outcomeKnown: boolean
    refusedAt?: number
  }): Promise<number | undefined> {
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
    const now = this.#ports.runtime.now()
    // A time in the future was recorded before the clock was set back.
    if (now >= this.#renewalRecordedAt && now - this.#renewalRecordedAt < renewalRecordSeconds) return
    this.#renewalRecordedAt = now
    // The next renewal will record it, and the session itself is stored.
    await this.#ports.store.recordProviderRenewal(this.#ports.providerIssuer, now).catch(() => undefined)
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
