import { BoundedMap } from '../bounded-map.ts'
import type { StoredProviderSession } from './grant.ts'
import { Liveness, pauseLeft } from './session-liveness.ts'
import { type RefreshOutcome, type SessionKeeperPorts, SessionRefresh } from './session-refresh.ts'
import { failurePauseSeconds, type KeptSession, probeKey, ServedSessions } from './served-session.ts'
import { type Claims, ProviderError, type ProviderSession } from './session-provider.ts'
import { openSessionOf } from './session-seal.ts'

/** Longer than any single call to the provider. */
const maxSettleMs = 10_000
const maxFinalSaveMs = 5000
const attemptsPerRefresh = 2
const pauseBetweenAttemptsMs = 200
const waitForOtherInstanceMs = 10_000
const maxPauseSeconds = 60
const maxPaused = 10_000

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
   * Refreshes a token near its end, and probes a session that was not checked for too long. Rejects with `StoreUnavailableError`.
   */
  keep(session: StoredProviderSession): Promise<KeptSession> {
    const { grantId } = session
    const now = this.#ports.runtime.now()
    if (this.#served.mustRefresh(session, now)) {
      const pause = pauseLeft(this.#pausedUntil.get(grantId), now, maxPauseSeconds)
      if (pause > 0) return Promise.resolve(this.#served.serveOrRefuse(session, now, pause))
      return this.#onceAtATime(grantId, () => this.#refresh(grantId))
    }
    if (this.#served.lifeOf(session) === 'live') return Promise.resolve(this.#served.serve(session))
    return this.#onceAtATime(grantId, () => this.#probe(session))
  }

  /** Returns the tokens inside `session`. Throws a transient `ProviderError` if it does not open: a later key may open it. */
  open(session: StoredProviderSession): ProviderSession {
    const { providerIssuer, sealer } = this.#ports
    const opening = openSessionOf(providerIssuer, session, sealer)
    if (opening.kind === 'opened') return opening.session
    throw new ProviderError('transient', `A stored provider session is ${opening.kind}.`)
  }

  claimsOf(session: StoredProviderSession): { claims: Claims; at: number } | undefined {
    return this.#liveness.claimsOf(probeKey(session))
  }

  /** Stores what the provider issued while the store was down. Call it about every second; cheap, never rejects. */
  async saveUnsaved(): Promise<void> {
    await this.#refresher.saveUnsaved()
  }

  /** Waits ten seconds at most for work in progress, and five to store unsaved sessions. Call it last. Never rejects. */
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
    if (opening.kind !== 'opened') return opening
    switch (await this.#liveness.probe(probeKey(session), opening.session)) {
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
      const opening = this.#served.open(session)
      if (opening.kind !== 'opened') return opening
      const outcome = await this.#refresher.attempt(session, opening.session)
      const answer = await this.#follow(outcome, session, progress)
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
      case 'unsaved':
        return this.#served.serveOrRefuse(session, this.#ports.runtime.now(), failurePauseSeconds)
      case 'refreshed':
        progress.refreshed = true
        return undefined
      case 'superseded':
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
