import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from './bounded-map.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import { createLiveness } from './liveness.ts'
import { createProviderRefresh, type ProviderRefreshEvent, type RefreshOutcome } from './provider-refresh.ts'
import { isDue } from './refresh-due.ts'
import type { Sealer } from './seal.ts'
import type { ProviderError, ProviderSession, SessionLife, SessionProvider } from './session-provider.ts'
import { openProviderSession } from './session-seal.ts'

const attemptsPerRefresh = 2
const waitForOtherInstanceMs = 10_000
/** After a failed refresh the provider is left alone for this long, or as long as it asks for, up to a limit. */
const failurePauseSeconds = 5
const longestPauseSeconds = 60
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
}

/** What the keeper needs from outside. `owner` names this process among the instances that share a store. */
export interface SessionKeeperPorts {
  store: GrantStore
  provider: Pick<SessionProvider, 'refresh' | 'probe'>
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

/**
 * Creates the keeper.
 *
 * Refreshing is lazy, once at a time per grant in this process and, by a lease, among all instances; nothing is locked
 * while the provider is asked. A new session is stored before anyone sees it. Only a definitive refusal ends the grant:
 * during an outage the still valid token is served, after that `unavailable`. A session that no key opens is
 * `unavailable` too: the key may come back.
 *
 * A probe takes no lease. A token that the provider refuses, although it has not expired, is refreshed at once.
 */
export function createSessionKeeper(ports: SessionKeeperPorts): SessionKeeper {
  const { store, sealer, runtime, report } = ports
  const attempt = createProviderRefresh(ports)
  const inFlight = new Map<string, Promise<KeptSession>>()
  const pausedUntil = createBoundedMap<number>(mostGrantsInMind)
  // Version that was opened last: opening one on every call would cost more than finding it.
  const readable = createBoundedMap<number>(mostGrantsInMind)
  const liveness = createLiveness({
    ...ports,
    reportFailure: (error) => report('provider_probe_failed', undefined, error),
  })

  function keep(session: StoredProviderSession): Promise<KeptSession> {
    const { grantId } = session
    const now = runtime.now()
    if (mustRefresh(session, now)) {
      const pause = (pausedUntil.get(grantId) ?? now) - now
      if (pause > 0) return Promise.resolve(serveOrRefuse(session, now, pause))
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
    const progress: RefreshProgress = { failures: 0, waitedMs: 0, refreshed: false }
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
        return unreadable(session)
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
    if (isUsable(session, runtime.now())) return serve(session)
    if (progress.waitedMs >= waitForOtherInstanceMs) return { kind: 'unavailable', retryAfterSeconds: 1 }
    const delayMs = Math.min(50 + progress.waitedMs, 250)
    await runtime.sleep(delayMs)
    progress.waitedMs += delayMs
    return undefined
  }

  function giveUp(session: StoredProviderSession, failure: ProviderError): KeptSession {
    // The attempts took time of their own: what counts is the clock after them.
    const now = runtime.now()
    const pause = Math.min(failure.retryAfterSeconds ?? failurePauseSeconds, longestPauseSeconds)
    pausedUntil.set(session.grantId, now + pause)
    report('provider_refresh_failed', session.grantId, failure)
    return serveOrRefuse(session, now, pause)
  }

  async function probe(session: StoredProviderSession): Promise<KeptSession> {
    const { grantId } = session
    const opened = open(session)
    if (!opened) return unreadable(session)
    switch (await liveness.ask(probeKey(session), opened.accessToken)) {
      case 'live':
        return serveOrRefuse(session, runtime.now(), failurePauseSeconds)
      case 'token_refused':
        return refresh(grantId)
      case 'ended':
        if (await store.endRefusedSession(session, runtime.now())) {
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
    const isReadable = readable.get(session.grantId) === session.version || open(session) !== undefined
    return isReadable ? { kind: 'live', session } : unreadable(session)
  }

  function open(session: StoredProviderSession): ProviderSession | undefined {
    const opened = openProviderSession(session, sealer)
    if (opened) readable.set(session.grantId, session.version)
    return opened
  }

  function unreadable(session: StoredProviderSession): KeptSession {
    report('provider_session_unreadable', session.grantId)
    return { kind: 'unavailable', retryAfterSeconds: failurePauseSeconds }
  }

  return {
    keep,
    accessToken(session) {
      const opened = openProviderSession(session, sealer)
      if (!opened) throw new TypeError('No key of the ring opens a stored provider session.')
      return opened.accessToken
    },
  }
}

/** How far one call of `refresh` has come. */
interface RefreshProgress {
  failures: number
  waitedMs: number
  refreshed: boolean
}

/** An answer is about one token: the next version starts afresh. */
function probeKey({ grantId, version }: StoredProviderSession): string {
  return `${grantId} ${version}`
}
