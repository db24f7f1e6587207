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
/** After a failed refresh the provider is left alone for this long. */
const failurePauseSeconds = 5
const mostPauses = 1000

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
  report: (event: 'provider_refreshed' | 'provider_refresh_failed' | 'provider_session_ended', grantId: string) => void
}

/** The stored form of `session`; the row and version it is sealed for are part of the seal. */
export function sealProviderSession(
  session: ProviderSession,
  row: { grantId: string; version: number; issuedAt: number },
  sealer: Sealer,
): StoredProviderSession {
  const { accessToken, refreshToken, expiresAt } = session
  return { ...row, expiresAt, sealed: sealer.seal(JSON.stringify({ accessToken, refreshToken }), context(row)) }
}

function context(row: { grantId: string; version: number }): string {
  return `provider session ${row.grantId} ${row.version}`
}

/**
 * Creates the keeper.
 *
 * Refreshing is lazy, once at a time per grant in this process and, by a lease, among all instances; nothing is locked
 * while the provider is asked. A new session is stored before anyone sees it. Only a definitive refusal ends the grant:
 * during an outage the still valid token is served, after that `unavailable`.
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
    let failures = 0
    let waitedMs = 0
    for (;;) {
      const session = await ports.store.findProviderSession(grantId)
      if (!session) return { kind: 'ended' }
      const now = ports.runtime.now()
      if (!isDue(session, now)) return { kind: 'live', session }
      const outcome = await tryRefresh(session, ports)
      if (outcome === 'held_elsewhere') {
        if (session.expiresAt > now) return { kind: 'live', session }
        if (waitedMs >= waitForOtherInstanceMs) return { kind: 'unavailable', retryAfterSeconds: 1 }
        const delayMs = Math.min(50 + waitedMs, 250)
        await ports.runtime.sleep(delayMs)
        waitedMs += delayMs
      } else if (outcome instanceof ProviderError) {
        failures += 1
        if (failures >= attemptsPerRefresh) {
          const pause = outcome.retryAfterSeconds ?? failurePauseSeconds
          pauseRefresh(grantId, now + pause, now)
          ports.report('provider_refresh_failed', grantId)
          return serveOrRefuse(session, now, pause)
        }
        await ports.runtime.sleep(200)
      } else if (outcome === 'refreshed') {
        pausedUntil.delete(grantId)
      }
      // 'refreshed', 'superseded' and 'ended' are read back from the store: what is stored is what is true.
    }
  }

  function pauseRefresh(grantId: string, until: number, now: number): void {
    if (pausedUntil.size >= mostPauses) {
      for (const [id, end] of pausedUntil) if (end <= now) pausedUntil.delete(id)
    }
    pausedUntil.set(grantId, until)
  }

  return {
    keep,
    accessToken: (session) => openSession(session, ports.sealer).accessToken,
  }
}

type RefreshOutcome = 'refreshed' | 'superseded' | 'held_elsewhere' | 'ended' | ProviderError

/** One attempt: lease, ask the provider, store. Answers a {@link ProviderError} for what may succeed later. */
async function tryRefresh(session: StoredProviderSession, ports: SessionKeeperPorts): Promise<RefreshOutcome> {
  const { store, provider, runtime, sealer, owner } = ports
  const { grantId, version } = session
  const now = runtime.now()
  const leased = await store.leaseProviderSession({ grantId, version, owner, until: now + leaseSeconds }, now)
  if (!leased) return 'held_elsewhere'
  const { refreshToken } = openSession(session, sealer)
  try {
    const refreshed = await provider.refresh(refreshToken)
    const row = { grantId, version: version + 1, issuedAt: runtime.now() }
    const saved = await store.saveProviderSession(sealProviderSession(refreshed, row, sealer))
    if (saved) ports.report('provider_refreshed', grantId)
    return saved ? 'refreshed' : 'superseded'
  } catch (error) {
    await store.releaseProviderSession({ grantId, owner })
    if (!(error instanceof ProviderError)) throw error
    if (error.failure !== 'terminal') return error
    return endUnlessSuperseded(session, ports)
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
): { accessToken: string; refreshToken: string } {
  const opened = sealer.open(session.sealed, context(session))
  if (opened === undefined) throw new TypeError('No key of the ring opens a stored provider session.')
  return JSON.parse(opened) as { accessToken: string; refreshToken: string }
}
