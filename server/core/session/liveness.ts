import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { type Claims, ProviderError, type SessionLife, type SessionProvider } from './session-provider.ts'
import { spreadOf } from './schedule.ts'

/** After an unanswered probe, sessions are not probed for this long. */
const pauseSeconds = 30
const maxAnswers = 10_000

/** Tracks whether sessions are still live at the provider, beyond what their tokens say. */
export interface Liveness {
  /**
   * Returns the known state of `key`; undefined when a probe is due. A session counts as live from `provenAt` (epoch seconds), or
   * from the last response, for up to `checkSeconds`.
   */
  lifeOf(key: string, provenAt: number): SessionLife | undefined
  /**
   * Probes the session of `accessToken`, once for all concurrent callers. Does not reject when the provider gives no clear
   * response: the last known state stays, or else the session counts as live.
   */
  probe(key: string, accessToken: string): Promise<SessionLife>
  /** Returns the user's claims from the last probe of `key`, and its time; undefined if it had none. */
  claimsOf(key: string): { claims: Claims; at: number } | undefined
}

/** Dependencies of probing. */
export interface LivenessPorts {
  provider: Pick<SessionProvider, 'probe'>
  runtime: Pick<Runtime, 'now'>
  /** How long a response is trusted; undefined: sessions are never probed and all count as live. */
  checkSeconds: number | undefined
  /** Called when a probe gets no response or an unreadable one, at most once per pause. */
  reportFailure?: (error: ProviderError) => void
}

/**
 * Creates the {@link Liveness} of one kind of key. Remembers results of all three kinds, in a bounded number.
 *
 * An outage must not delay every caller in turn: after a failed probe none are sent for 30 seconds, and then one at a time, until
 * one has succeeded. An unreadable response says nothing about other sessions: for its own key the last known result stays, for at
 * least 30 seconds.
 */
export function createLiveness(ports: LivenessPorts): Liveness {
  const { provider, runtime, checkSeconds } = ports
  const answers = createBoundedMap<Answer>(maxAnswers)
  const asking = new Map<string, Promise<SessionLife>>()
  let isFailing = false
  let pausedUntil = 0
  let quietUntil = 0

  async function sendProbe(key: string, accessToken: string): Promise<SessionLife> {
    const isTrial = isFailing
    // Hold other probes back until this one is answered.
    if (isTrial) pausedUntil = runtime.now() + pauseSeconds
    try {
      const { life, claims } = (await provider.probe?.(accessToken)) ?? { life: 'live' }
      answers.set(key, { life, claims, at: runtime.now() })
      isFailing = false
      pausedUntil = 0
      return life
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      const life = answers.get(key)?.life ?? 'live'
      if (isOutage(error)) {
        if (isTrial || !isFailing) ports.reportFailure?.(error)
        isFailing = true
        pausedUntil = runtime.now() + pauseSeconds
      } else {
        setUnclear(key, life, error)
      }
      return life
    }
  }

  function setUnclear(key: string, life: SessionLife, error: ProviderError): void {
    const now = runtime.now()
    const claims = answers.get(key)?.claims
    answers.set(key, { life, claims, at: now, askAgainAt: now + pauseSeconds })
    isFailing = false
    pausedUntil = 0
    if (isAhead(quietUntil, now)) return
    quietUntil = now + pauseSeconds
    ports.reportFailure?.(error)
  }

  return {
    lifeOf(key, provenAt) {
      if (checkSeconds === undefined || !provider.probe) return 'live'
      const answer = answers.get(key)
      const life = answer?.life ?? 'live'
      const now = runtime.now()
      const age = now - Math.max(provenAt, answer?.at ?? provenAt)
      // Up to a tenth earlier, so that sessions that started together are probed at different times.
      if (age < checkSeconds * (1 - spreadOf(key) / 10)) return life
      return isAhead(pausedUntil, now) || isAhead(answer?.askAgainAt ?? 0, now) ? life : undefined
    },
    probe(key, accessToken) {
      const running = asking.get(key)
      if (running) return running
      const started = sendProbe(key, accessToken).finally(() => asking.delete(key))
      asking.set(key, started)
      return started
    },
    claimsOf(key) {
      const { claims, at = 0 } = answers.get(key) ?? {}
      return claims && { claims, at }
    },
  }
}

interface Answer {
  life: SessionLife
  claims: Claims | undefined
  at: number
  askAgainAt?: number
}

/** True when the provider did not respond at all, or is rate limiting: it then applies to every session. */
function isOutage({ failure }: ProviderError): boolean {
  return failure === 'transient' || failure === 'rate_limited'
}

/** True while a pause until `until` lasts. One that seems longer than the maximum is over: the clock was set back. */
function isAhead(until: number, now: number): boolean {
  return now < until && until - now <= pauseSeconds
}
