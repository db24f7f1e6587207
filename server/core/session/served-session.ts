import { createBoundedMap } from '../bounded-map.ts'
import type { Sealer } from '../seal.ts'
import type { StoredProviderSession } from './grant.ts'
import type { Liveness } from './liveness.ts'
import { isDue } from './schedule.ts'
import { openSessionOf, type SessionOpening } from './session-seal.ts'
import type { SessionLife } from './session-provider.ts'

/** What a caller of `/mcp` gets for the provider session behind its grant. */
export type KeptSession =
  | { kind: 'live'; session: StoredProviderSession }
  | { kind: 'ended' }
  | { kind: 'unavailable'; retryAfterSeconds: number }

/** What the log is told about sessions that cannot be used. */
export type UnusableSessionEvent =
  | 'provider_session_unreadable' // the key that sealed a session is missing from the ring
  | 'grant_of_other_provider' // another provider issued the session, which is not sent to this one; told once for each

/** What {@link ServedSessions} needs from outside. */
export interface ServedSessionPorts {
  /** The issuer of the provider in use. */
  providerIssuer: string
  sealer: Sealer
  mustProbeNew?: () => boolean
  report: (event: UnusableSessionEvent, grantId: string) => void
}

/** How long callers wait before they ask again when nothing better is known. */
export const failurePauseSeconds = 5
/** Until an operator corrects the configuration. */
const foreignPauseSeconds = 60
const maxRemembered = 10_000

/** Decides what a caller gets for a stored session as it is, without asking the provider for a new one. */
export class ServedSessions {
  readonly #ports: ServedSessionPorts
  readonly #liveness: Pick<Liveness, 'lifeOf'>
  /** The version of each grant that was opened last: opening one on every call would cost more than finding it. */
  readonly #readable = createBoundedMap<number>(maxRemembered)
  readonly #foreign = createBoundedMap<true>(maxRemembered)

  constructor(ports: ServedSessionPorts, liveness: Pick<Liveness, 'lifeOf'>) {
    this.#ports = ports
    this.#liveness = liveness
  }

  serve(session: StoredProviderSession): KeptSession {
    if (this.#readable.get(session.grantId) === session.version) return { kind: 'live', session }
    const opening = this.open(session)
    return opening.kind === 'opened' ? { kind: 'live', session } : this.unusable(session, opening.kind)
  }

  /** Serves a session that should have been refreshed for as long as its token still works. */
  serveOrRefuse(session: StoredProviderSession, now: number, retryAfterSeconds: number): KeptSession {
    return this.isUsable(session, now) ? this.serve(session) : { kind: 'unavailable', retryAfterSeconds }
  }

  unusable({ grantId }: StoredProviderSession, kind: 'unreadable' | 'foreign'): KeptSession {
    if (kind === 'unreadable') {
      this.#ports.report('provider_session_unreadable', grantId)
      return { kind: 'unavailable', retryAfterSeconds: failurePauseSeconds }
    }
    if (!this.#foreign.get(grantId)) this.#ports.report('grant_of_other_provider', grantId)
    this.#foreign.set(grantId, true)
    return { kind: 'unavailable', retryAfterSeconds: foreignPauseSeconds }
  }

  open(session: StoredProviderSession): SessionOpening {
    const opening = openSessionOf(this.#ports.providerIssuer, session, this.#ports.sealer)
    if (opening.kind === 'opened') this.#readable.set(session.grantId, session.version)
    return opening
  }

  mustRefresh(session: StoredProviderSession, now: number): boolean {
    return isDue(session, now) || this.lifeOf(session) === 'token_refused'
  }

  isUsable(session: StoredProviderSession, now: number): boolean {
    return session.expiresAt > now && this.lifeOf(session) !== 'token_refused'
  }

  /** Undefined when it is time to ask the provider. */
  lifeOf(session: StoredProviderSession): SessionLife | undefined {
    const provenAt = this.#ports.mustProbeNew?.() ? -Infinity : session.issuedAt
    return this.#liveness.lifeOf(probeKey(session), provenAt)
  }
}

/** An answer about liveness is about one token: the next version starts afresh. */
export function probeKey({ grantId, version }: StoredProviderSession): string {
  return `${grantId} ${version}`
}
