import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import type { Sealer } from './seal.ts'
import { ProviderError, type ProviderSession, type SessionProvider } from './session-provider.ts'

/** Longer than any single call to the provider, so that a slow holder gives up before another starts. */
const leaseSeconds = 15
const refreshAheadSeconds = 120
const refreshJitterSeconds = 30
const attemptsPerRefresh = 2
const waitForOtherInstanceMs = 10_000
/** After a failed refresh the provider is left alone for this long, or as long as it asks for, up to a limit. */
const failurePauseSeconds = 5
const longestPauseSeconds = 60
const attemptsPerSave = 3
const mostPauses = 10_000

/** What a caller of `/mcp` gets for the provider session behind its grant. */
export type KeptSession =
  | { kind: 'live'; session: StoredProviderSession }
  | { kind: 'ended' }
  | { kind: 'unavailable'; retryAfterSeconds: number }

/** Keeps the provider's tokens of every grant usable, without ever losing one. */
export interface SessionKeeper {
  /** Refreshes when the stored token nears its end; otherwise answers at once with what was given. */
  keep(session: StoredProviderSession): Promise<KeptSession>
  /** The provider access token inside `session`. Throws when no key of the ring opens it. */
  accessToken(session: StoredProviderSession): string
}

/** What the keeper needs from outside. `owner` names this process among the instances that share a store. */
export interface SessionKeeperPorts {
  store: GrantStore
  provider: Pick<SessionProvider, 'refresh'>
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'sleep'>
  owner: string
  report: (event: SessionKeeperEvent, grantId: string) => void
}

/** What the keeper tells the log. `unreadable`: the key that sealed a session is missing from the ring. */
export type SessionKeeperEvent =
  | 'provider_refreshed'
  | 'provider_refresh_failed'
  | 'provider_session_ended'
  | 'provider_session_unreadable'

/** The stored form of `session`; the row and version it is sealed for are part of the seal. */
export function sealProviderSession(
  session: ProviderSession,
  row: { grantId: string; version: number; issuedAt: number },
  sealer: Sealer,
): StoredProviderSession {
  const { accessToken, refreshToken, expiresAt } = session
  return {
    ...row,
    expiresAt,
    sealed: sealer.seal(JSON.stringify({ accessToken, refreshToken }), context(row)),
  }
}

function context(row: { grantId: string; version: number }): string {
  return `provider session ${row.grantId} ${row.version}`
}

/**
 * Creates the keeper.
 *
 * Refreshing is lazy, once at a time per grant in this process and, by a lease, among all instances; nothing is locked
 * while the provider is asked. A new session is stored before anyone sees it. Only a definitive refusal ends the grant:
 * during an outage the still valid token is served, after that `unavailable`. A session that is
 * due and that no key opens is `unavailable` too: the key may come back.
 */
export function createSessionKeeper(ports: SessionKeeperPorts): SessionKeeper {
  const inFlight = new Map<string, Promise<KeptSession>>()
  const pausedUntil = new Map<string, number>()

  function keep(session: StoredProviderSession): Promise<KeptSession> {
    const now = ports.runtime.now()
    if (!isDue(session, now)) return Promise.resolve({ kind: 'live', session })
    const pause = pausedUntil.get(session.grantId)
    if (pause !== undefined && pause > now) return Promise.resolve(serveOrRefuse(session, now, pause - now))
    const running = inFlight.get(session.grantId)
    if (running) return running
    const started = refresh(session.grantId).finally(() => inFlight.delete(session.grantId))
    inFlight.set(session.grantId, started)
    return started
  }

  async function refresh(grantId: string): Promise<KeptSession> {
    const progress: RefreshProgress = { failures: 0, waitedMs: 0, refreshed: false }
    for (;;) {
      // Whatever an attempt says, what is stored is what is true.
      const session = await ports.store.findProviderSession(grantId)
      if (!session) return { kind: 'ended' }
      const now = ports.runtime.now()
      if (!isDue(session, now)) return { kind: 'live', session }
      // A token that is due as soon as it is issued: asking for the next one would never end.
      if (progress.refreshed) return serveOrRefuse(session, now, failurePauseSeconds)
      const answer = await follow(await tryRefresh(session, ports), session, progress)
      if (answer) return answer
    }
  }

  /** The answer that `outcome` settles; undefined to look at the store again. */
  async function follow(
    outcome: RefreshOutcome,
    session: StoredProviderSession,
    progress: RefreshProgress,
  ): Promise<KeptSession | undefined> {
    if (outcome instanceof ProviderError) {
      progress.failures += 1
      if (progress.failures >= attemptsPerRefresh || outcome.retryAfterSeconds !== undefined) {
        return giveUp(session, outcome)
      }
      await ports.runtime.sleep(200)
      return undefined
    }
    switch (outcome) {
      case 'held_elsewhere':
        return waitForHolder(session, progress)
      case 'unreadable':
        return { kind: 'unavailable', retryAfterSeconds: failurePauseSeconds }
      case 'refreshed':
        progress.refreshed = true
        pausedUntil.delete(session.grantId)
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
    if (session.expiresAt > ports.runtime.now()) return { kind: 'live', session }
    if (progress.waitedMs >= waitForOtherInstanceMs) return { kind: 'unavailable', retryAfterSeconds: 1 }
    const delayMs = Math.min(50 + progress.waitedMs, 250)
    await ports.runtime.sleep(delayMs)
    progress.waitedMs += delayMs
    return undefined
  }

  function giveUp(session: StoredProviderSession, failure: ProviderError): KeptSession {
    // The attempts took time of their own: what counts is the clock after them.
    const now = ports.runtime.now()
    const pause = Math.min(failure.retryAfterSeconds ?? failurePauseSeconds, longestPauseSeconds)
    pauseRefresh(session.grantId, now + pause)
    ports.report('provider_refresh_failed', session.grantId)
    return serveOrRefuse(session, now, pause)
  }

  function pauseRefresh(grantId: string, until: number): void {
    // Forgetting a pause costs one call to the provider, so a full map is simply emptied.
    if (pausedUntil.size >= mostPauses) pausedUntil.clear()
    pausedUntil.set(grantId, until)
  }

  return {
    keep,
    accessToken(session) {
      const opened = openSession(session, ports.sealer)
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

type RefreshOutcome = 'refreshed' | 'superseded' | 'held_elsewhere' | 'ended' | 'unreadable' | ProviderError

/** One attempt: lease, ask the provider, store. Answers a {@link ProviderError} for what may succeed later. */
async function tryRefresh(
  session: StoredProviderSession,
  ports: SessionKeeperPorts,
): Promise<RefreshOutcome> {
  const { store, provider, runtime, sealer, owner } = ports
  const { grantId, version } = session
  const opened = openSession(session, sealer)
  if (!opened) {
    ports.report('provider_session_unreadable', grantId)
    return 'unreadable'
  }
  const now = runtime.now()
  const leased = await store.leaseProviderSession({ grantId, version, owner, until: now + leaseSeconds }, now)
  if (!leased) return 'held_elsewhere'
  try {
    const refreshed = await provider.refresh(opened.refreshToken)
    const row = { grantId, version: version + 1, issuedAt: runtime.now() }
    const saved = await saveStubbornly(sealProviderSession(refreshed, row, sealer), ports)
    if (saved) ports.report('provider_refreshed', grantId)
    return saved ? 'refreshed' : 'superseded'
  } catch (error) {
    await store.releaseProviderSession({ grantId, owner })
    if (!(error instanceof ProviderError)) throw error
    if (error.failure !== 'terminal') return error
    return endUnlessSuperseded(session, ports)
  }
}

// The provider has already rotated: losing this write would leave only what its forgiveness of a lost reply can save.
async function saveStubbornly(session: StoredProviderSession, ports: SessionKeeperPorts): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ports.store.saveProviderSession(session)
    } catch (error) {
      if (attempt >= attemptsPerSave) throw error
      await ports.runtime.sleep(100)
    }
  }
}

// A refusal may be about a token that another instance has already replaced: the stored version decides.
async function endUnlessSuperseded(
  session: StoredProviderSession,
  ports: SessionKeeperPorts,
): Promise<RefreshOutcome> {
  const current = await ports.store.findProviderSession(session.grantId)
  if (current && current.version !== session.version) return 'superseded'
  await ports.store.endGrant(session.grantId, 'provider_session_ended', ports.runtime.now())
  ports.report('provider_session_ended', session.grantId)
  return 'ended'
}

function isDue(session: StoredProviderSession, now: number): boolean {
  return session.expiresAt - now <= refreshMargin(session)
}

/** Seconds before its end at which a token counts as due: 120 +- 30, spread by grant, never over a fifth of its life. */
function refreshMargin(session: StoredProviderSession): number {
  const spread = (session.grantId.codePointAt(0) ?? 0) % (2 * refreshJitterSeconds + 1)
  const lifetime = session.expiresAt - session.issuedAt
  return Math.min(refreshAheadSeconds - refreshJitterSeconds + spread, Math.floor(lifetime / 5))
}

function serveOrRefuse(session: StoredProviderSession, now: number, retryAfterSeconds: number): KeptSession {
  return session.expiresAt > now ? { kind: 'live', session } : { kind: 'unavailable', retryAfterSeconds }
}

function openSession(
  session: StoredProviderSession,
  sealer: Sealer,
): { accessToken: string; refreshToken: string } | undefined {
  const opened = sealer.open(session.sealed, context(session))
  return opened === undefined
    ? undefined
    : (JSON.parse(opened) as { accessToken: string; refreshToken: string })
}
