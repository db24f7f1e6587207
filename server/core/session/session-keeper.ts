import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { Sealer } from '../seal.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import { Liveness } from './session-liveness.ts'
import { type RefreshOutcome, SessionRefresh, type SessionRefreshEvent } from './session-refresh.ts'
import {
  failurePauseSeconds,
  type KeptSession,
  probeKey,
  ServedSessions,
  type UnusableSessionEvent,
} from './served-session.ts'
import type { Claims, ProviderError, ProviderSession, SessionProvider } from './session-provider.ts'
import { openSessionOf } from './session-seal.ts'

/** Longer than any single call to the provider. */
const maxSettleMs = 10_000
const maxFinalSaveMs = 5000
const attemptsPerRefresh = 2
const pauseBetweenAttemptsMs = 200
const waitForOtherInstanceMs = 10_000
const maxPauseSeconds = 60
const maxPaused = 10_000

/** Dependencies of the keeper. `owner` identifies this process among the instances that share a store. */
export interface SessionKeeperPorts {
  store: GrantStore
  provider: Pick<SessionProvider, 'refresh' | 'probe'>
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
  | SessionRefreshEvent
  | UnusableSessionEvent
  | 'provider_refresh_failed' // the provider returned no session when asked; it is not asked again for a while
  | 'provider_probe_failed' // the provider did not say whether a session is live; probes pause for a while
  | 'provider_sessions_lost' // the store was down to the end: what the provider issued is lost with this process

interface Progress {
  failures: number
  waitedMs: number
  /** When another instance was first found to hold the lease. */
  heldSince: number | undefined
  refreshed: boolean
}

/**
 * Keeps the provider's tokens of every grant usable without losing any.
 *
 * Refreshes lazily, one at a time per grant in this process and, by a lease, across all instances; holds no lock while the provider
 * is asked. Stores a new session before anyone sees it. Only a definitive refusal ends the grant: during an outage the still valid
 * token is served, after that `unavailable`. A session that no key opens is `unavailable` too: the key may come back. So is one of
 * another provider: a wrong setting must not end grants.
 *
 * A probe takes no lease. A token that the provider refuses before its expiry is refreshed at once.
 */
export class SessionKeeper {
  readonly #ports: SessionKeeperPorts
  readonly #refresher: SessionRefresh
  readonly #liveness: Liveness
  readonly #served: ServedSessions
  readonly #inFlight = new Map<string, Promise<KeptSession>>()
  readonly #pausedUntil = new BoundedMap<number>(maxPaused)

  constructor(ports: SessionKeeperPorts) {
    this.#ports = ports
    this.#refresher = new SessionRefresh(ports)
    this.#liveness = new Liveness({
      ...ports,
      reportFailure: (error) => ports.report('provider_probe_failed', undefined, error),
    })
    this.#served = new ServedSessions(ports, this.#liveness)
  }

  /**
   * Refreshes a token near its end, probes the session when its liveness has not been checked for too long, and otherwise returns
   * `session` at once. Rejects with `StoreUnavailableError`.
   */
  keep(session: StoredProviderSession): Promise<KeptSession> {
    const { grantId } = session
    const now = this.#ports.runtime.now()
    if (this.#served.mustRefresh(session, now)) {
      const pause = this.#pauseOf(grantId, now)
      if (pause > 0) return Promise.resolve(this.#served.serveOrRefuse(session, now, pause))
      return this.#onceAtATime(grantId, () => this.#refresh(grantId))
    }
    if (this.#served.lifeOf(session) === 'live') return Promise.resolve(this.#served.serve(session))
    return this.#onceAtATime(grantId, () => this.#probe(session))
  }

  /** Returns the tokens inside `session`. Throws when no key of the ring opens it. */
  open(session: StoredProviderSession): ProviderSession {
    const { providerIssuer, sealer } = this.#ports
    const opening = openSessionOf(providerIssuer, session, sealer)
    if (opening.kind !== 'opened') throw new TypeError(`A stored provider session is ${opening.kind}.`)
    return opening.session
  }

  /** Returns the user's claims from the last probe of `session`, and its time. */
  claimsOf(session: StoredProviderSession): { claims: Claims; at: number } | undefined {
    return this.#liveness.claimsOf(probeKey(session))
  }

  /** Stores what the provider issued while the store was down. Call it about every second; cheap, never rejects. */
  async saveUnsaved(): Promise<void> {
    await this.#refresher.saveUnsaved()
  }

  /**
   * Waits up to ten seconds for work in progress, then spends up to five storing what is unsaved. Call it before
   * closing the store, after the last `keep`. Sessions still unsaved after that are reported and lost. Never rejects.
   */
  async settle(): Promise<void> {
    const { runtime, report } = this.#ports
    // Polls, so that no timer keeps the process alive.
    for (let waitedMs = 0; this.#inFlight.size > 0 && waitedMs < maxSettleMs; waitedMs += 50) {
      await runtime.sleep(50)
    }
    const until = runtime.now() + maxFinalSaveMs / 1000
    while ((await this.#refresher.saveUnsaved()) > 0) {
      if (runtime.now() >= until) return report('provider_sessions_lost', undefined)
      await runtime.sleep(200)
    }
  }

  #onceAtATime(grantId: string, work: () => Promise<KeptSession>): Promise<KeptSession> {
    const running = this.#inFlight.get(grantId)
    if (running) return running
    const started = work().finally(() => this.#inFlight.delete(grantId))
    this.#inFlight.set(grantId, started)
    return started
  }

  async #probe(session: StoredProviderSession): Promise<KeptSession> {
    const { store, runtime, report } = this.#ports
    const { grantId } = session
    const opening = this.#served.open(session)
    if (opening.kind !== 'opened') return this.#served.unusable(session, opening.kind)
    switch (await this.#liveness.probe(probeKey(session), opening.session.accessToken)) {
      case 'live':
        return this.#served.serveOrRefuse(session, runtime.now(), failurePauseSeconds)
      case 'token_refused':
        return this.#refresh(grantId)
      case 'ended':
        if (await store.endRefusedSession(session, 'provider_session_ended', runtime.now())) {
          report('provider_session_ended', grantId)
          return { kind: 'ended' }
        }
        // The token was replaced or its grant ended during the probe.
        return this.#refresh(grantId)
    }
  }

  /** Returns how many seconds the provider is not asked about this grant after a failed refresh; 0 for none. */
  #pauseOf(grantId: string, now: number): number {
    const pause = (this.#pausedUntil.get(grantId) ?? now) - now
    // A pause that seems longer than the maximum is over: the clock was set back.
    return pause > 0 && pause <= maxPauseSeconds ? pause : 0
  }

  /** Refreshes the session of a grant until its caller can be answered. Must not run twice at once for one grant. */
  async #refresh(grantId: string): Promise<KeptSession> {
    const progress: Progress = { failures: 0, waitedMs: 0, heldSince: undefined, refreshed: false }
    for (;;) {
      // The result of an attempt is a hint; the store has the current state.
      const session = await this.#ports.store.findProviderSession(grantId)
      if (!session) return { kind: 'ended' }
      const now = this.#ports.runtime.now()
      if (!this.#served.mustRefresh(session, now)) return this.#served.serve(session)
      // A token that is due as soon as it is issued: requesting the next one would never end.
      if (progress.refreshed) return this.#served.serveOrRefuse(session, now, failurePauseSeconds)
      const answer = await this.#follow(await this.#refresher.attempt(session), session, progress)
      if (answer) return answer
    }
  }

  /** Returns the result that `outcome` settles; undefined to read the store again. */
  async #follow(
    outcome: RefreshOutcome,
    session: StoredProviderSession,
    progress: Progress,
  ): Promise<KeptSession | undefined> {
    switch (outcome.kind) {
      case 'failed':
        progress.failures += 1
        if (progress.failures >= attemptsPerRefresh || outcome.error.retryAfterSeconds !== undefined) {
          return this.#giveUp(session, outcome.error)
        }
        await this.#ports.runtime.sleep(pauseBetweenAttemptsMs)
        return undefined
      case 'held':
        return this.#waitForHolder(session, progress)
      case 'unreadable':
      case 'foreign':
        return this.#served.unusable(session, outcome.kind)
      case 'unsaved':
        return this.#served.serveOrRefuse(session, this.#ports.runtime.now(), failurePauseSeconds)
      case 'refreshed':
        progress.refreshed = true
        return undefined
      case 'superseded':
      case 'ended':
        return undefined
    }
  }

  async #waitForHolder(session: StoredProviderSession, progress: Progress): Promise<KeptSession | undefined> {
    const { runtime } = this.#ports
    const now = runtime.now()
    if (this.#served.isUsable(session, now)) return this.#served.serve(session)
    progress.heldSince ??= now
    // By the clock as well: reading a slow store takes longer than the pauses in between.
    const waitedMs = Math.max(progress.waitedMs, (now - progress.heldSince) * 1000)
    if (waitedMs >= waitForOtherInstanceMs) return { kind: 'unavailable', retryAfterSeconds: 1 }
    const delayMs = Math.min(50 + progress.waitedMs, 250)
    await runtime.sleep(delayMs)
    progress.waitedMs += delayMs
    return undefined
  }

  /** Pauses requests to the provider for a few seconds, or as long as it asks, up to a limit. */
  #giveUp(session: StoredProviderSession, failure: ProviderError): KeptSession {
    // The attempts took time too: use the clock after them.
    const now = this.#ports.runtime.now()
    const pause = Math.min(Math.max(failure.retryAfterSeconds ?? failurePauseSeconds, 1), maxPauseSeconds)
    this.#pausedUntil.set(session.grantId, now + pause)
    this.#ports.report('provider_refresh_failed', session.grantId, failure)
    return this.#served.serveOrRefuse(session, now, pause)
  }
}
