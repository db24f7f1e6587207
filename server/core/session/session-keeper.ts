import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import { createLiveness } from './liveness.ts'
import { createProviderRefresh, type ProviderRefreshEvent, type RefreshOutcome } from './provider-refresh.ts'
import { isDue } from './schedule.ts'
import type { Sealer } from '../seal.ts'
import type { ProviderError, SessionLife, SessionProvider } from './session-provider.ts'
import { openSessionOf, type SessionOpening } from './session-seal.ts'

const attemptsPerRefresh = 2
const waitForOtherInstanceMs = 10_000
/** Longer than any single call to the provider. */
const longestSettleMs = 10_000
const longestFinalSaveMs = 5000
/** After a failed refresh the provider is left alone for this long, or as long as it asks for, up to a limit. */
const failurePauseSeconds = 5
const longestPauseSeconds = 60
/** Somebody has to put the configuration right. */
const foreignPauseSeconds = 60
const mostGrantsInMind = 10_000

/** What a caller of `/mcp` gets for the provider session behind its grant. */
export type KeptSession =
  | { kind: 'live'; session: StoredProviderSession }
  | { kind: 'ended' }
  | { kind: 'unavailable'; retryAfterSeconds: number }

/** Keeps the provider's tokens of every grant usable, without ever losing one. */
export interface SessionKeeper {
  /**
   * Refreshes when the stored token nears its end, asks the provider whether the session still lives when that was
   * not known for long enough, and otherwise answers at once with what was given. Rejects with `StoreUnavailableError`.
   */
  keep(session: StoredProviderSession): Promise<KeptSession>
  /** The provider access token inside `session`. Throws when no key of the ring opens it. */
  accessToken(session: StoredProviderSession): string
  /** Stores what the provider issued while the store was down. To be called every second or so; cheap, never rejects. */
  saveUnsaved(): Promise<void>
  /**
   * Waits for what is under way, up to ten seconds, and stores what is unsaved, for up to five: to be called before the
   * store is closed, when nobody calls `keep` any more. What is unsaved after that is reported and lost. Never rejects.
   */
  settle(): Promise<void>
}

/** What the keeper needs from outside. `owner` names this process among the instances that share a store. */
export interface SessionKeeperPorts {
  store: GrantStore
  provider: Pick<SessionProvider, 'refresh' | 'probe'>
  /** The issuer of `provider`. */
  providerIssuer: string
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'sleep'>
  owner: string
  /** How long an answer of `probe` is trusted; undefined: sessions are never probed. */
  checkSeconds: number | undefined
  /** `grantId` is undefined for what is about the provider as a whole. */
  report: (event: SessionKeeperEvent, grantId: string | undefined, error?: unknown) => void
}

/** What the keeper tells the log. */
export type SessionKeeperEvent =
  | ProviderRefreshEvent
  | 'provider_refresh_failed' // the provider was asked and gave no session; it is left alone for a while
  | 'provider_probe_failed' // the provider did not say whether a session lives; none is probed for a while
  | 'provider_session_unreadable' // the key that sealed a session is missing from the ring
  | 'grant_of_other_provider' // another provider issued the session, which is not sent to this one; told once for each
  | 'provider_sessions_lost' // the store was down to the end: what the provider issued is gone with this process

/**
 * Creates the keeper.
 *
 * Refreshing is lazy, once at a time per grant in this process and, by a lease, among all instances; nothing is locked
 * while the provider is asked. A new session is stored before anyone sees it. Only a definitive refusal ends the grant:
 * during an outage the still valid token is served, after that `unavailable`. A session that no key opens is
 * `unavailable` too: the key may come back. So is one of another provider: a wrong setting must not end grants.
 *
 * A probe takes no lease. A token that the provider refuses, although it has not expired, is refreshed at once.
 */
export function createSessionKeeper(ports: SessionKeeperPorts): SessionKeeper {
  const { store, providerIssuer, sealer, runtime, report } = ports
  const { attempt, saveUnsaved } = createProviderRefresh(ports)
  const inFlight = new Map<string, Promise<KeptSession>>()
  const pausedUntil = createBoundedMap<number>(mostGrantsInMind)
  // Version that was opened last: opening one on every call would cost more than finding it.
  const readable = createBoundedMap<number>(mostGrantsInMind)
  const foreign = createBoundedMap<true>(mostGrantsInMind)
  const liveness = createLiveness({
    ...ports,
    reportFailure: (error) => report('provider_probe_failed', undefined, error),
  })

  function keep(session: StoredProviderSession): Promise<KeptSession> {
    const { grantId } = session
    const now = runtime.now()
    if (mustRefresh(session, now)) {
      const pause = (pausedUntil.get(grantId) ?? now) - now
      // A pause that seems longer than any is over: the clock was set back.
      if (pause > 0 && pause <= longestPauseSeconds)
        return Promise.resolve(serveOrRefuse(session, now, pause))
      return onceAtATime(grantId, () => refresh(grantId))
    }
    if (livenessOf(session) === 'live') return Promise.resolve(serve(session))
    return onceAtATime(grantId, () => probe(session))
  }

  function onceAtATime(grantId: string, work: () => Promise<KeptSession>): Promise<KeptSession> {
    const running = inFlight.get(grantId)
    if (running) return running
    const started = work().finally(() => inFlight.delete(grantId))
    inFlight.set(grantId, started)
    return started
  }

  async function refresh(grantId: string): Promise<KeptSession> {
    const progress: RefreshProgress = { failures: 0, waitedMs: 0, heldSince: undefined, refreshed: false }
    for (;;) {
      // Whatever an attempt says, what is stored is what is true.
      const session = await store.findProviderSession(grantId)
      if (!session) return { kind: 'ended' }
      const now = runtime.now()
      if (!mustRefresh(session, now)) return serve(session)
      // A token that is due as soon as it is issued: asking for the next one would never end.
      if (progress.refreshed) return serveOrRefuse(session, now, failurePauseSeconds)
      const answer = await follow(await attempt(session), session, progress)
      if (answer) return answer
    }
  }

  /** The answer that `outcome` settles; undefined to look at the store again. */
  async function follow(
    outcome: RefreshOutcome,
    session: StoredProviderSession,
    progress: RefreshProgress,
  ): Promise<KeptSession | undefined> {
    switch (outcome.kind) {
      case 'failed':
        progress.failures += 1
        if (progress.failures >= attemptsPerRefresh || outcome.error.retryAfterSeconds !== undefined) {
          return giveUp(session, outcome.error)
        }
        await runtime.sleep(200)
        return undefined
      case 'held':
        return waitForHolder(session, progress)
      case 'unreadable':
      case 'foreign':
        return unusable(session, outcome.kind)
      case 'unsaved':
        return serveOrRefuse(session, runtime.now(), failurePauseSeconds)
      case 'refreshed':
        progress.refreshed = true
        return undefined
      case 'superseded':
      case 'ended':
        return undefined
    }
  }

  async function waitForHolder(
    session: StoredProviderSession,
    progress: RefreshProgress,
  ): Promise<KeptSession | undefined> {
    const now = runtime.now()
    if (isUsable(session, now)) return serve(session)
    progress.heldSince ??= now
    // By the clock as well: asking a slow store takes longer than the pauses in between.
    const waitedMs = Math.max(progress.waitedMs, (now - progress.heldSince) * 1000)
    if (waitedMs >= waitForOtherInstanceMs) return { kind: 'unavailable', retryAfterSeconds: 1 }
    const delayMs = Math.min(50 + progress.waitedMs, 250)
    await runtime.sleep(delayMs)
    progress.waitedMs += delayMs
    return undefined
  }

  function giveUp(session: StoredProviderSession, failure: ProviderError): KeptSession {
    // The attempts took time of their own: what counts is the clock after them.
    const now = runtime.now()
    const pause = Math.min(Math.max(failure.retryAfterSeconds ?? failurePauseSeconds, 1), longestPauseSeconds)
    pausedUntil.set(session.grantId, now + pause)
    report('provider_refresh_failed', session.grantId, failure)
    return serveOrRefuse(session, now, pause)
  }

  async function probe(session: StoredProviderSession): Promise<KeptSession> {
    const { grantId } = session
    const opening = open(session)
    if (opening.kind !== 'opened') return unusable(session, opening.kind)
    switch (await liveness.ask(probeKey(session), opening.session.accessToken)) {
      case 'live':
        return serveOrRefuse(session, runtime.now(), failurePauseSeconds)
      case 'token_refused':
        return refresh(grantId)
      case 'ended':
        if (await store.endRefusedSession(session, 'provider_session_ended', runtime.now())) {
          report('provider_session_ended', grantId)
          return { kind: 'ended' }
        }
        // The token was replaced or its grant ended while the provider was asked.
        return refresh(grantId)
    }
  }

  function livenessOf(session: StoredProviderSession): SessionLife | undefined {
    return liveness.known(probeKey(session), session.issuedAt)
  }

  function mustRefresh(session: StoredProviderSession, now: number): boolean {
    return isDue(session, now) || livenessOf(session) === 'token_refused'
  }

  function isUsable(session: StoredProviderSession, now: number): boolean {
    return session.expiresAt > now && livenessOf(session) !== 'token_refused'
  }

  function serveOrRefuse(
    session: StoredProviderSession,
    now: number,
    retryAfterSeconds: number,
  ): KeptSession {
    return isUsable(session, now) ? serve(session) : { kind: 'unavailable', retryAfterSeconds }
  }

  function serve(session: StoredProviderSession): KeptSession {
    if (readable.get(session.grantId) === session.version) return { kind: 'live', session }
    const opening = open(session)
    return opening.kind === 'opened' ? { kind: 'live', session } : unusable(session, opening.kind)
  }

  function open(session: StoredProviderSession): SessionOpening {
    const opening = openSessionOf(providerIssuer, session, sealer)
    if (opening.kind === 'opened') readable.set(session.grantId, session.version)
    return opening
  }

  function unusable({ grantId }: StoredProviderSession, kind: 'unreadable' | 'foreign'): KeptSession {
    if (kind === 'unreadable') {
      report('provider_session_unreadable', grantId)
      return { kind: 'unavailable', retryAfterSeconds: failurePauseSeconds }
    }
    if (!foreign.get(grantId)) report('grant_of_other_provider', grantId)
    foreign.set(grantId, true)
    return { kind: 'unavailable', retryAfterSeconds: foreignPauseSeconds }
  }

  async function settle(): Promise<void> {
    // Looking again and again leaves no timer behind that would keep the process.
    for (let waitedMs = 0; inFlight.size > 0 && waitedMs < longestSettleMs; waitedMs += 50) {
      await runtime.sleep(50)
    }
    const until = runtime.now() + longestFinalSaveMs / 1000
    while ((await saveUnsaved()) > 0) {
      if (runtime.now() >= until) return report('provider_sessions_lost', undefined)
      await runtime.sleep(200)
    }
  }

  return {
    keep,
    accessToken(session) {
      const opening = openSessionOf(providerIssuer, session, sealer)
      if (opening.kind !== 'opened') throw new TypeError(`A stored provider session is ${opening.kind}.`)
      return opening.session.accessToken
    },
    async saveUnsaved() {
      await saveUnsaved()
    },
    settle,
  }
}

/** How far one call of `refresh` has come. */
interface RefreshProgress {
  failures: number
  waitedMs: number
  /** When another was first found to hold the lease. */
  heldSince: number | undefined
  refreshed: boolean
}

/** An answer is about one token: the next version starts afresh. */
function probeKey({ grantId, version }: StoredProviderSession): string {
  return `${grantId} ${version}`
}
