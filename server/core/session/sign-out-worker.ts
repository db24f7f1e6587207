import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'
import { openSessionOf, sealProviderSession } from './session-seal.ts'
import { pauseLeft, spreadOf } from './session-liveness.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

export interface PendingSignOut {
  session: StoredProviderSession
  attempts: number
  /** When it first became due, epoch seconds. */
  since: number
}

/** The sign-out outbox. Rows come from ended and expired grants, unredeemed codes and abandoned second factors. */
export interface SignOutStore {
  /** Claims up to `limit` due rows until `until`. If the worker dies, the rows become due again. */
  claimSignOuts(claim: { limit: number; until: number }, now: number): Promise<PendingSignOut[]>
  postponeSignOut(grantId: string, dueAt: number): Promise<void>
  removeSignOut(grantId: string): Promise<void>
}

const maxPerRound = 20
const atOnce = 4
/** Providers limit refreshes far more tightly than sign-outs, and refreshes of live grants come first. */
const maxRefreshesPerRound = 10
/** Pause after a rate limit, unless the provider asks for another. */
const limitedPauseSeconds = 60
const maxPauseSeconds = 3600
const claimSeconds = 60
/** One sign-out: refused, refreshed and signed out, each within the eight seconds of a call. */
const maxSignOutSeconds = 24

const firstDelaySeconds = 10
const maxDelaySeconds = 3600
/** After that the provider's session ends by its own rules. */
const giveUpAfterSeconds = 3 * 86_400

export type SignOutEvent =
  | 'provider_signed_out' // the session is over at the provider, ended now or earlier
  | 'provider_sign_out_skipped' // the provider does not support it, or other connections use the session
  | 'provider_sign_out_failed' // tried again later
  | 'provider_sign_out_abandoned' // tried for three days: the session may still be live at the provider
  | 'provider_session_unreadable' // the key that sealed it is missing from the ring; tried again later
  | 'grant_of_other_provider' // it is not sent to this provider; tried again later

export interface SignOutWorkerPorts {
  store: SignOutStore & Pick<GrantStore, 'saveProviderSession'>
  provider: Pick<SessionProvider, 'signOut' | 'refresh'>
  /** Returns whether live connections use the session, too; it is then not ended. Undefined: sessions are never shared. */
  isInUse?: ((session: ProviderSession) => Promise<boolean>) | undefined
  providerIssuer: string
  sealer: Sealer
  runtime: Pick<Runtime, 'now'>
  report: (event: SignOutEvent, grantId: string, error?: unknown) => void
}

/** Any number of workers may run on one store: a claim keeps others away for a minute, and longer work is not started. */
export class SignOutWorker {
  readonly #ports: SignOutWorkerPorts
  #pausedUntil = 0

  constructor(ports: SignOutWorkerPorts) {
    this.#ports = ports
  }

  async #signOut(pending: PendingSignOut, round: Round): Promise<void> {
    const { grantId } = pending.session
    const opening = openSessionOf(this.#ports.providerIssuer, pending.session, this.#ports.sealer)
    if (opening.kind === 'unreadable') return this.#postpone(pending, 'provider_session_unreadable')
    if (opening.kind === 'foreign') return this.#postpone(pending, 'grant_of_other_provider')
    const { isInUse } = this.#ports
    if (isInUse && (await isInUse(opening.session))) return this.#close(grantId, 'provider_sign_out_skipped')
    try {
      if ((await this.#endAtProvider(pending.session, opening.session, round)) === 'left') return
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      this.#pauseIfLimited(error)
      if (isFailure(error, 'disabled')) return this.#close(grantId, 'provider_sign_out_skipped')
      // The session is gone already.
      if (!isFailure(error, 'terminal')) return this.#postpone(pending, 'provider_sign_out_failed', error)
    }
    await this.#close(grantId, 'provider_signed_out')
  }

  async #close(grantId: string, event: SignOutEvent): Promise<void> {
    await this.#ports.store.removeSignOut(grantId)
    this.#ports.report(event, grantId)
  }

  /** Refreshes once if the access token has expired or is refused; `left` when the round has used up its refreshes. */
  async #endAtProvider(
    stored: StoredProviderSession,
    session: ProviderSession,
    round: Round,
  ): Promise<'ended' | 'left'> {
    if (session.expiresAt > this.#ports.runtime.now()) {
      try {
        await this.#ports.provider.signOut(session)
        return 'ended'
      } catch (error) {
        if (!isFailure(error, 'invalid_token')) throw error
      }
    }
    if (round.refreshes >= maxRefreshesPerRound) return 'left'
    round.refreshes += 1
    await this.#ports.provider.signOut(await this.#refresh(stored, session))
    return 'ended'
  }

  async #refresh(stored: StoredProviderSession, session: ProviderSession): Promise<ProviderSession> {
    const { grantId, version } = stored
    const refreshed = await this.#ports.provider.refresh(session)
    const row = { grantId, version: version + 1, issuedAt: this.#ports.runtime.now() }
    // Stored before it is used, so that the next attempt has it. Ignore the result, which concerns live grants.
    await this.#ports.store.saveProviderSession(
      sealProviderSession({ ...refreshed, issuer: this.#ports.providerIssuer }, row, this.#ports.sealer),
    )
    return refreshed
  }

  async #postpone(pending: PendingSignOut, event: SignOutEvent, error?: unknown): Promise<void> {
    const { grantId } = pending.session
    const now = this.#ports.runtime.now()
    if (now - pending.since >= giveUpAfterSeconds) {
      await this.#ports.store.removeSignOut(grantId)
      this.#ports.report('provider_sign_out_abandoned', grantId, error)
      return
    }
    const asked = error instanceof ProviderError ? (error.retryAfterSeconds ?? 0) : 0
    await this.#ports.store.postponeSignOut(grantId, now + Math.max(delaySeconds(pending), asked))
    this.#ports.report(event, grantId, error)
  }

  #pauseIfLimited(error: unknown): void {
    if (!(error instanceof ProviderError)) return
    const { failure, retryAfterSeconds } = error
    if (failure !== 'rate_limited' && !(failure === 'transient' && retryAfterSeconds !== undefined)) return
    const seconds = Math.min(Math.max(retryAfterSeconds ?? limitedPauseSeconds, 1), maxPauseSeconds)
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#ports.runtime.now() + seconds)
  }

  #isPaused(): boolean {
    return pauseLeft(this.#pausedUntil, this.#ports.runtime.now(), maxPauseSeconds) > 0
  }

  /**
   * Processes due rows; returns how many it took, done or not. A row that fails waits for a later round. Rejects with
   * `StoreUnavailableError` once everything in progress has settled; unfinished rows become due again. A rate limit of the provider
   * ends the round, and pauses rounds for a while. Starts nothing more once `isStopped`.
   */
  async run(isStopped: () => boolean = () => false): Promise<number> {
    if (this.#isPaused() || isStopped()) return 0
    const round: Round = { refreshes: 0 }
    const until = this.#ports.runtime.now() + claimSeconds
    const claimed = await this.#ports.store.claimSignOuts(
      { limit: maxPerRound, until },
      this.#ports.runtime.now(),
    )
    const waiting = claimed.values()
    let isStoreDown = false
    const lane = async (): Promise<void> => {
      for (const pending of waiting) {
        if (isStoreDown || this.#isPaused() || isStopped()) return
        if (this.#ports.runtime.now() + maxSignOutSeconds > until) return
        try {
          await this.#signOut(pending, round)
        } catch (error) {
          isStoreDown = true
          throw error
        }
      }
    }
    const ends = await Promise.allSettled(Array.from({ length: atOnce }, lane))
    const failed = ends.find((end) => end.status === 'rejected')
    if (failed) throw failed.reason
    return claimed.length
  }
}

interface Round {
  refreshes: number
}

function isFailure(error: unknown, failure: 'terminal' | 'invalid_token' | 'disabled'): boolean {
  return error instanceof ProviderError && error.failure === failure
}

/** Returns 10 to 20 seconds after the first attempt, then twice as long each time, up to an hour; spread by session. */
function delaySeconds({ attempts, session }: PendingSignOut): number {
  const longest = Math.min(2 * firstDelaySeconds * 2 ** (attempts - 1), maxDelaySeconds)
  return Math.ceil(longest * (1 - spreadOf(session.grantId) / 2))
}
