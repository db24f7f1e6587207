import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Sealer } from '../seal.ts'
import type { GrantStore, StoredProviderSession } from './grant.ts'
import { createLiveness } from './liveness.ts'
import { ProviderRefresh, type ProviderRefreshEvent } from './provider-refresh.ts'
import {
  failurePauseSeconds,
  type KeptSession,
  probeKey,
  ServedSessions,
  type UnusableSessionEvent,
} from './served-session.ts'
import type { Claims, ProviderSession, SessionProvider } from './session-provider.ts'
import { SessionRefresh } from './session-refresh.ts'
import { openSessionOf } from './session-seal.ts'

/** Longer than any single call to the provider. */
const maxSettleMs = 10_000
const maxFinalSaveMs = 5000

/** Keeps the provider's tokens of every grant usable, without ever losing one. */
export interface SessionKeeper {
  /**
   * Refreshes when the stored token nears its end, asks the provider whether the session still lives when that was
   * not known for long enough, and otherwise answers at once with what was given. Rejects with `StoreUnavailableError`.
   */
  keep(session: StoredProviderSession): Promise<KeptSession>
  /** The tokens inside `session`. Throws when no key of the ring opens it. */
  open(session: StoredProviderSession): ProviderSession
  /** What the provider said about the person of `session` when it was last asked whether the session lives, and when. */
  claimsOf(session: StoredProviderSession): { claims: Claims; at: number } | undefined
  /** Stores what the provider issued while the store was down. To be called every second or so; cheap, never rejects. */
  saveUnsaved(): Promise<void>
  /**
   * Waits up to ten seconds for work in progress, then spends up to five storing what is unsaved. Call it before
   * closing the store, after the last `keep`. Sessions still unsaved after that are reported and lost. Never rejects.
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
  /** Whether a new session says nothing about its person until it has been probed. */
  mustProbeNew?: () => boolean
  /** `grantId` is undefined for what is about the provider as a whole. */
  report: (event: SessionKeeperEvent, grantId: string | undefined, error?: unknown) => void
}

/** Log events of the keeper. */
export type SessionKeeperEvent =
  | ProviderRefreshEvent
  | UnusableSessionEvent
  | 'provider_refresh_failed' // the provider was asked and gave no session; it is left alone for a while
  | 'provider_probe_failed' // the provider did not say whether a session lives; none is probed for a while
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
  const provider = new ProviderRefresh(ports)
  const liveness = createLiveness({
    ...ports,
    reportFailure: (error) => report('provider_probe_failed', undefined, error),
  })
  const served = new ServedSessions(ports, liveness)
  const refreshes = new SessionRefresh(ports, provider, served)
  const inFlight = new Map<string, Promise<KeptSession>>()

  function onceAtATime(grantId: string, work: () => Promise<KeptSession>): Promise<KeptSession> {
    const running = inFlight.get(grantId)
    if (running) return running
    const started = work().finally(() => inFlight.delete(grantId))
    inFlight.set(grantId, started)
    return started
  }

  async function probe(session: StoredProviderSession): Promise<KeptSession> {
    const { grantId } = session
    const opening = served.open(session)
    if (opening.kind !== 'opened') return served.unusable(session, opening.kind)
    switch (await liveness.probe(probeKey(session), opening.session.accessToken)) {
      case 'live':
        return served.serveOrRefuse(session, runtime.now(), failurePauseSeconds)
      case 'token_refused':
        return refreshes.run(grantId)
      case 'ended':
        if (await store.endRefusedSession(session, 'provider_session_ended', runtime.now())) {
          report('provider_session_ended', grantId)
          return { kind: 'ended' }
        }
        // The token was replaced or its grant ended while the provider was asked.
        return refreshes.run(grantId)
    }
  }

  return {
    keep(session) {
      const { grantId } = session
      const now = runtime.now()
      if (served.mustRefresh(session, now)) {
        const pause = refreshes.pauseOf(grantId, now)
        if (pause > 0) return Promise.resolve(served.serveOrRefuse(session, now, pause))
        return onceAtATime(grantId, () => refreshes.run(grantId))
      }
      if (served.lifeOf(session) === 'live') return Promise.resolve(served.serve(session))
      return onceAtATime(grantId, () => probe(session))
    },
    open(session) {
      const opening = openSessionOf(providerIssuer, session, sealer)
      if (opening.kind !== 'opened') throw new TypeError(`A stored provider session is ${opening.kind}.`)
      return opening.session
    },
    claimsOf: (session) => liveness.claimsOf(probeKey(session)),
    async saveUnsaved() {
      await provider.saveUnsaved()
    },
    async settle() {
      // Polling leaves no timer behind that would keep the process alive.
      for (let waitedMs = 0; inFlight.size > 0 && waitedMs < maxSettleMs; waitedMs += 50) {
        await runtime.sleep(50)
      }
      const until = runtime.now() + maxFinalSaveMs / 1000
      while ((await provider.saveUnsaved()) > 0) {
        if (runtime.now() >= until) return report('provider_sessions_lost', undefined)
        await runtime.sleep(200)
      }
    },
  }
}
