import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { ProviderRefresh, RefreshOutcome } from './provider-refresh.ts'
import { failurePauseSeconds, type KeptSession, type ServedSessions } from './served-session.ts'
import type { ProviderError } from './session-provider.ts'

const attemptsPerRefresh = 2
const pauseBetweenAttemptsMs = 200
const waitForOtherInstanceMs = 10_000
const maxPauseSeconds = 60
const maxPaused = 10_000

/** What {@link SessionRefresh} needs from outside. */
export interface SessionRefreshPorts {
  store: Pick<GrantStore, 'findProviderSession'>
  runtime: Pick<Runtime, 'now' | 'sleep'>
  report: (event: 'provider_refresh_failed', grantId: string, error: ProviderError) => void
}

/** How far one refresh has come. */
interface Progress {
  failures: number
  waitedMs: number
  /** When another instance was first found to hold the lease. */
  heldSince: number | undefined
  refreshed: boolean
}

/** Refreshes the session of a grant until it can be said what its caller gets. */
export class SessionRefresh {
  readonly #ports: SessionRefreshPorts
  readonly #provider: ProviderRefresh
  readonly #served: ServedSessions
  readonly #pausedUntil = createBoundedMap<number>(maxPaused)

  constructor(ports: SessionRefreshPorts, provider: ProviderRefresh, served: ServedSessions) {
    this.#ports = ports
    this.#provider = provider
    this.#served = served
  }

  /** Seconds for which the provider is left alone about this grant, after a refresh that failed; 0 for none. */
  pauseOf(grantId: string, now: number): number {
    const pause = (this.#pausedUntil.get(grantId) ?? now) - now
    // A pause that seems longer than any is over: the clock was set back.
    return pause > 0 && pause <= maxPauseSeconds ? pause : 0
  }

  /** Not to be called twice at once for one grant. */
  async run(grantId: string): Promise<KeptSession> {
    const progress: Progress = { failures: 0, waitedMs: 0, heldSince: undefined, refreshed: false }
    for (;;) {
      // The outcome of an attempt is a hint; the store says what is true.
      const session = await this.#ports.store.findProviderSession(grantId)
      if (!session) return { kind: 'ended' }
      const now = this.#ports.runtime.now()
      if (!this.#served.mustRefresh(session, now)) return this.#served.serve(session)
      // A token that is due as soon as it is issued: asking for the next one would never end.
      if (progress.refreshed) return this.#served.serveOrRefuse(session, now, failurePauseSeconds)
      const answer = await this.#follow(await this.#provider.attempt(session), session, progress)
      if (answer) return answer
    }
  }

  /** The answer that `outcome` settles; undefined to look at the store again. */
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
    // By the clock as well: asking a slow store takes longer than the pauses in between.
    const waitedMs = Math.max(progress.waitedMs, (now - progress.heldSince) * 1000)
    if (waitedMs >= waitForOtherInstanceMs) return { kind: 'unavailable', retryAfterSeconds: 1 }
    const delayMs = Math.min(50 + progress.waitedMs, 250)
    await runtime.sleep(delayMs)
    progress.waitedMs += delayMs
    return undefined
  }

  /** Leaves the provider alone for a few seconds or as long as it asks for, up to a limit. */
  #giveUp(session: StoredProviderSession, failure: ProviderError): KeptSession {
    // The attempts took time of their own: what counts is the clock after them.
    const now = this.#ports.runtime.now()
    const pause = Math.min(Math.max(failure.retryAfterSeconds ?? failurePauseSeconds, 1), maxPauseSeconds)
    this.#pausedUntil.set(session.grantId, now + pause)
    this.#ports.report('provider_refresh_failed', session.grantId, failure)
    return this.#served.serveOrRefuse(session, now, pause)
  }
}
