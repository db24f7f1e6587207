import { BoundedMap } from '../bounded-map.ts'
import type { StoredProviderSession } from './grant.ts'
import { isDue, type Liveness } from './session-liveness.ts'
import type { SessionKeeperPorts } from './session-refresh.ts'
import { openSessionOf, type SessionOpening } from './session-seal.ts'
import type { SessionLife } from './session-provider.ts'

/** A provider session as served to a caller of `/mcp`. */
export type KeptSession =
  | { kind: 'live'; session: StoredProviderSession }
  | { kind: 'ended' }
  | { kind: 'unavailable'; retryAfterSeconds: number }

export const failurePauseSeconds = 5
/** Until an operator corrects the configuration. */
const foreignPauseSeconds = 60
const maxRemembered = 10_000

/** Decides what a caller gets for a stored session as it is, without asking the provider to refresh it. */
export class ServedSessions {
  readonly #ports: SessionKeeperPorts
  readonly #liveness: Pick<Liveness, 'lifeOf'>
  /** The last opened version of each grant: opening one on every call would cost more than finding it. */
  readonly #readable = new BoundedMap<number>(maxRemembered)
  readonly #foreign = new BoundedMap<true>(maxRemembered)

  constructor(ports: SessionKeeperPorts, liveness: Pick<Liveness, 'lifeOf'>) {
    this.#ports = ports
    this.#liveness = liveness
  }

  serve(session: StoredProviderSession): KeptSession {
    if (this.#readable.get(session.grantId) === session.version) return { kind: 'live', session }
    const opening = this.open(session)
    return opening.kind === 'opened' ? { kind: 'live', session } : opening
  }

  /** Serves a session that should have been refreshed while its token is still valid. */
  serveOrRefuse(session: StoredProviderSession, now: number, retryAfterSeconds: number): KeptSession {
    return this.isUsable(session, now) ? this.serve(session) : { kind: 'unavailable', retryAfterSeconds }
  }

  /** Opens the session, or reports why it cannot be opened and returns what its caller gets. */
  open(
    session: StoredProviderSession,
  ): Extract<SessionOpening, { kind: 'opened' }> | Extract<KeptSession, { kind: 'unavailable' }> {
    const { providerIssuer, sealer, report } = this.#ports
    const { grantId, version } = session
    const opening = openSessionOf(providerIssuer, session, sealer)
    switch (opening.kind) {
      case 'opened':
        this.#readable.set(grantId, version)
        return opening
      case 'unreadable':
        report('provider_session_unreadable', grantId)
        return { kind: 'unavailable', retryAfterSeconds: failurePauseSeconds }
      case 'foreign':
        if (!this.#foreign.get(grantId)) report('grant_of_other_provider', grantId)
        this.#foreign.set(grantId, true)
        return { kind: 'unavailable', retryAfterSeconds: foreignPauseSeconds }
    }
  }

  mustRefresh(session: StoredProviderSession, now: number): boolean {
    return isDue(session, now) || this.lifeOf(session) === 'token_refused'
  }

  isUsable(session: StoredProviderSession, now: number): boolean {
    return session.expiresAt > now && this.lifeOf(session) !== 'token_refused'
  }

  lifeOf(session: StoredProviderSession): SessionLife | undefined {
    const provenAt = this.#ports.mustProbeNew?.() ? -Infinity : session.issuedAt
    return this.#liveness.lifeOf(probeKey(session), provenAt)
  }
}

/** Builds the key for liveness: a result applies to one token, so each version starts afresh. */
export function probeKey({ grantId, version }: StoredProviderSession): string {
  return `${grantId} ${version}`
}
