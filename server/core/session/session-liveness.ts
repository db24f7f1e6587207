import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { StoredProviderSession } from './grant.ts'
import {
  type Claims,
  type ProbedSession,
  ProviderError,
  type SessionLife,
  type SessionProvider,
} from './session-provider.ts'

/** After an unanswered probe, sessions are not probed for this long. */
const pauseSeconds = 30
const maxAnswers = 10_000
const refreshAheadSeconds = 120
const refreshJitterSeconds = 30

export interface LivenessPorts {
  provider: Pick<SessionProvider, 'probe'>
  runtime: Pick<Runtime, 'now'>
  /** How long a response is trusted; undefined: sessions are never probed and all count as live. */
  checkSeconds: number | undefined
  /** Called when a probe gets no response or an unreadable one, at most once per pause. */
  reportFailure?: (error: ProviderError) => void
}

/**
 * Tracks whether sessions are still live at the provider, beyond what their tokens say. Remembers results of all three kinds, in a
 * bounded number.
 *
 * An outage must not delay every caller in turn: after a failed probe none are sent for 30 seconds, and then one at a time, until
 * one has succeeded. An unreadable response says nothing about other sessions: for its own key the last known result stays, for at
 * least 30 seconds.
 */
export class Liveness {
  readonly #ports: LivenessPorts
  readonly #answers = new BoundedMap<Answer>(maxAnswers)
  readonly #asking = new Map<string, Promise<SessionLife>>()
  #isFailing = false
  #pausedUntil = 0
  #quietUntil = 0

  constructor(ports: LivenessPorts) {
    this.#ports = ports
  }

  /** Undefined when a probe is due. A session counts as live from `provenAt` or the last response, for up to `checkSeconds`. */
  lifeOf(key: string, provenAt: number): SessionLife | undefined {
    const { checkSeconds, provider, runtime } = this.#ports
    if (checkSeconds === undefined || !provider.probe) return 'live'
    const answer = this.#answers.get(key)
    const life = answer?.life ?? 'live'
    const now = runtime.now()
    const age = now - Math.max(provenAt, answer?.at ?? provenAt)
    // Up to a tenth earlier, so that sessions that started together are probed at different times.
    if (age < checkSeconds * (1 - spreadOf(key) / 10)) return life
    const pause = Math.max(
      pauseLeft(this.#pausedUntil, now, pauseSeconds),
      pauseLeft(answer?.askAgainAt, now, pauseSeconds),
    )
    return pause > 0 ? life : undefined
  }

  /** Once for all concurrent callers. Without a clear response the last known state stays, or else the session counts as live. */
  probe(key: string, session: ProbedSession): Promise<SessionLife> {
    const running = this.#asking.get(key)
    if (running) return running
    const started = this.#sendProbe(key, session).finally(() => this.#asking.delete(key))
    this.#asking.set(key, started)
    return started
  }

  /** Claims of the last probe; undefined if it had none. */
  claimsOf(key: string): { claims: Claims; at: number } | undefined {
    const { claims, at = 0 } = this.#answers.get(key) ?? {}
    return claims && { claims, at }
  }

  async #sendProbe(key: string, session: ProbedSession): Promise<SessionLife> {
    const { provider, runtime, reportFailure } = this.#ports
    const isTrial = this.#isFailing
    // Hold other probes back until this one is answered.
    if (isTrial) this.#pausedUntil = runtime.now() + pauseSeconds
    try {
      const { life, claims } = (await provider.probe?.(session)) ?? { life: 'live' }
      this.#setAnswer(key, { life, claims, at: runtime.now() })
      return life
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      const known = this.#answers.get(key) ?? { life: 'live' }
      if (!isOutage(error)) this.#setUnclear(key, known, error)
      else {
        if (isTrial || !this.#isFailing) reportFailure?.(error)
        this.#isFailing = true
        this.#pausedUntil = runtime.now() + pauseSeconds
      }
      return known.life
    }
  }

  #setUnclear(key: string, { life, claims }: Pick<Answer, 'life' | 'claims'>, error: ProviderError): void {
    const now = this.#ports.runtime.now()
    this.#setAnswer(key, { life, claims, at: now, askAgainAt: now + pauseSeconds })
    if (pauseLeft(this.#quietUntil, now, pauseSeconds) > 0) return
    this.#quietUntil = now + pauseSeconds
    this.#ports.reportFailure?.(error)
  }

  #setAnswer(key: string, answer: Answer): void {
    this.#answers.set(key, answer)
    this.#isFailing = false
    this.#pausedUntil = 0
  }
}

interface Answer {
  life: SessionLife
  claims?: Claims | undefined
  at: number
  askAgainAt?: number
}

/** True when the provider did not respond at all, or is rate limiting: it then applies to every session. */
function isOutage({ failure }: ProviderError): boolean {
  return failure === 'transient' || failure === 'rate_limited'
}

/** Returns the seconds left of a pause until `until`; 0 once it is over, or seems longer than `max`: the clock was set back. */
export function pauseLeft(until: number = 0, now: number, max: number): number {
  const left = until - now
  return left > 0 && left <= max ? left : 0
}

/** Maps an id to a constant number from 0 up to 1, evenly distributed, to spread work over time. Not cryptographic. */
export function spreadOf(id: string): number {
  let hash = 0x811c9dc5
  // FNV-1a, whose high bits barely depend on the last character: the two multiplications at the end mix them.
  for (let index = 0; index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000
}

/** 120 +- 30 seconds before its access token ends, spread by grant, but at most in the last fifth of the token's life. */
export function isDue(session: StoredProviderSession, now: number): boolean {
  const left = session.expiresAt - now
  const lastFifth = Math.floor((session.expiresAt - session.issuedAt) / 5)
  // Nearly every call returns here, before hashing the grant's id.
  if (left > Math.min(refreshAheadSeconds + refreshJitterSeconds, lastFifth)) return false
  const spread = Math.floor(spreadOf(session.grantId) * (2 * refreshJitterSeconds + 1))
  return left <= refreshAheadSeconds - refreshJitterSeconds + spread
}
