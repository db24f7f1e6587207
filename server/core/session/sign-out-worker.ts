import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { Sealer } from '../seal.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'
import { openSessionOf, sealProviderSession } from './session-seal.ts'
import { spreadOf } from './schedule.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** A provider session that nobody uses any more and that has to be ended at the provider. */
export interface PendingSignOut {
  session: StoredProviderSession
  /** How often it was claimed, this time included. */
  attempts: number
  /** When it became due first, epoch seconds. */
  since: number
}

/** The outbox of sign-outs. Rows come from ended and expired grants, unredeemed codes and abandoned second factors. */
export interface SignOutStore {
  /** Takes up to `limit` due ones; nobody else gets them before `until`, so one that dies with its worker comes back. */
  claimSignOuts(claim: { limit: number; until: number }, now: number): Promise<PendingSignOut[]>
  /** Tries again from `dueAt` on. */
  postponeSignOut(grantId: string, dueAt: number): Promise<void>
  /** Done or given up. */
  removeSignOut(grantId: string): Promise<void>
}

const mostPerRound = 20
const atOnce = 4
/** Providers limit refreshes far more tightly than sign-outs, and those of living grants come first. */
const mostRefreshesPerRound = 10
/** For as long, or as it asks for, nothing is sent to a provider that is being asked too much. */
const limitedPauseSeconds = 60
const longestPauseSeconds = 3600
const claimSeconds = 60
/** One sign-out: refused, refreshed, and signed out, each within the eight seconds of a call. */
const longestSignOutSeconds = 24

const firstDelaySeconds = 10
const longestDelaySeconds = 3600
/** After that the provider's session ends by its own rules. */
const giveUpAfterSeconds = 3 * 86_400

/** Ends at the provider the sessions that nobody uses any more. */
export interface SignOutWorker {
  /**
   * One round over what is due; answers how many it took, done or not. A row that fails is for a later round. Rejects
   * with `StoreUnavailableError` once all that had begun is over; what was not done comes back by itself. A provider
   * that is being asked too much ends the round, and there is none for a while. Once `isStopped` nothing more is begun.
   */
  run(isStopped?: () => boolean): Promise<number>
}

/** What the worker tells the log. */
export type SignOutEvent =
  | 'provider_signed_out' // the session is over at the provider, by this or before
  | 'provider_sign_out_skipped' // the provider cannot be asked to, or other connections use the session
  | 'provider_sign_out_failed' // tried again later
  | 'provider_sign_out_abandoned' // tried for three days: the session may live on at the provider
  | 'provider_session_unreadable' // the key that sealed it is missing from the ring; tried again later
  | 'grant_of_other_provider' // it is not sent to this provider; tried again later

/** What the worker needs from outside. */
export interface SignOutWorkerPorts {
  store: SignOutStore & Pick<GrantStore, 'saveProviderSession'>
  provider: Pick<SessionProvider, 'signOut' | 'refresh'>
  /** The issuer of `provider`. */
  providerIssuer: string
  sealer: Sealer
  runtime: Pick<Runtime, 'now'>
  report: (event: SignOutEvent, grantId: string, error?: unknown) => void
}

/**
 * Creates the worker. Any number of them may run on one store: a claim keeps the others away for a minute, and whatever
 * could outlast its claim is not begun.
 */
export function createSignOutWorker(ports: SignOutWorkerPorts): SignOutWorker {
  const { store, provider, providerIssuer, sealer, runtime, report } = ports
  let pausedUntil = 0

  async function signOut(pending: PendingSignOut, round: Round): Promise<void> {
    const { grantId } = pending.session
    const opening = openSessionOf(providerIssuer, pending.session, sealer)
    if (opening.kind === 'unreadable') return postpone(pending, 'provider_session_unreadable')
    if (opening.kind === 'foreign') return postpone(pending, 'grant_of_other_provider')
    try {
      if ((await endAtProvider(pending.session, opening.session, round)) === 'left') return
    } catch (error) {
      if (error instanceof StoreUnavailableError) throw error
      pauseIfLimited(error)
      if (isFailure(error, 'disabled')) return close(grantId, 'provider_sign_out_skipped')
      // Refused for good: there is nothing left to end.
      if (!isFailure(error, 'terminal')) return postpone(pending, 'provider_sign_out_failed', error)
    }
    await close(grantId, 'provider_signed_out')
  }

  async function close(grantId: string, event: SignOutEvent): Promise<void> {
    await store.removeSignOut(grantId)
    report(event, grantId)
  }

  /**
   * With an access token that is over, or that the provider refuses, it is refreshed once first. `left` when the round
   * has had its refreshes: the row comes back when its claim is over.
   */
  async function endAtProvider(
    stored: StoredProviderSession,
    session: ProviderSession,
    round: Round,
  ): Promise<'ended' | 'left'> {
    if (session.expiresAt > runtime.now()) {
      try {
        await provider.signOut(session)
        return 'ended'
      } catch (error) {
        if (!isFailure(error, 'invalid_token')) throw error
      }
    }
    if (round.refreshes >= mostRefreshesPerRound) return 'left'
    round.refreshes += 1
    await provider.signOut(await refresh(stored, session))
    return 'ended'
  }

  async function refresh(stored: StoredProviderSession, session: ProviderSession): Promise<ProviderSession> {
    const { grantId, version } = stored
    const refreshed = await provider.refresh(session)
    const row = { grantId, version: version + 1, issuedAt: runtime.now() }
    // Before it is used, so that the next attempt has it. Its answer is about grants that live, so it says nothing here.
    await store.saveProviderSession(
      sealProviderSession({ ...refreshed, issuer: providerIssuer }, row, sealer),
    )
    return refreshed
  }

  async function postpone(pending: PendingSignOut, event: SignOutEvent, error?: unknown): Promise<void> {
    const { grantId } = pending.session
    const now = runtime.now()
    if (now - pending.since >= giveUpAfterSeconds) {
      await store.removeSignOut(grantId)
      report('provider_sign_out_abandoned', grantId, error)
      return
    }
    const asked = error instanceof ProviderError ? (error.retryAfterSeconds ?? 0) : 0
    await store.postponeSignOut(grantId, now + Math.max(delaySeconds(pending), asked))
    report(event, grantId, error)
  }

  function pauseIfLimited(error: unknown): void {
    if (!(error instanceof ProviderError)) return
    const { failure, retryAfterSeconds } = error
    if (failure !== 'rate_limited' && !(failure === 'transient' && retryAfterSeconds !== undefined)) return
    const seconds = Math.min(Math.max(retryAfterSeconds ?? limitedPauseSeconds, 1), longestPauseSeconds)
    pausedUntil = Math.max(pausedUntil, runtime.now() + seconds)
  }

  function isPaused(): boolean {
    const left = pausedUntil - runtime.now()
    // A pause that seems longer than any is over: the clock was set back.
    return left > 0 && left <= longestPauseSeconds
  }

  return {
    async run(isStopped = () => false) {
      if (isPaused() || isStopped()) return 0
      const round: Round = { refreshes: 0 }
      const until = runtime.now() + claimSeconds
      const claimed = await store.claimSignOuts({ limit: mostPerRound, until }, runtime.now())
      const waiting = claimed.values()
      let isStoreDown = false
      const lane = async (): Promise<void> => {
        for (const pending of waiting) {
          if (isStoreDown || isPaused() || isStopped()) return
          if (runtime.now() + longestSignOutSeconds > until) return
          try {
            await signOut(pending, round)
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
    },
  }
}

/** What one round has done so far. */
interface Round {
  refreshes: number
}

function isFailure(error: unknown, failure: 'terminal' | 'invalid_token' | 'disabled'): boolean {
  return error instanceof ProviderError && error.failure === failure
}

/** 10 to 20 seconds after the first attempt, then twice as long each time, up to an hour; spread by session. */
function delaySeconds({ attempts, session }: PendingSignOut): number {
  const longest = Math.min(2 * firstDelaySeconds * 2 ** (attempts - 1), longestDelaySeconds)
  return Math.ceil(longest * (1 - spreadOf(session.grantId) / 2))
}
