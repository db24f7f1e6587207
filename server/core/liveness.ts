import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from './bounded-map.ts'
import { ProviderError, type SessionLife, type SessionProvider } from './session-provider.ts'
import { spreadOf } from './spread.ts'

/** After a probe without a clear answer the provider is left alone for this long, whatever the session. */
const pauseSeconds = 30
const mostAnswers = 10_000

/** What is known about whether sessions still live at the provider, beyond what their tokens say. */
export interface Liveness {
  /**
   * What is known about `key` without asking; undefined when it is time to ask. A session counts as live from
   * `provenAt` on, epoch seconds, or from the last answer, for up to `checkSeconds`.
   */
  known(key: string, provenAt: number): SessionLife | undefined
  /**
   * Asks about the session of `accessToken`, once however many callers wait for it. Never rejects for a provider that
   * gives no clear answer: then what was known last stands, or else the session is taken for live.
   */
  ask(key: string, accessToken: string): Promise<SessionLife>
}

/** What probing needs from outside. */
export interface LivenessPorts {
  provider: Pick<SessionProvider, 'probe'>
  runtime: Pick<Runtime, 'now'>
  /** How long an answer is trusted; undefined: nobody is ever asked, and every session counts as live. */
  checkSeconds: number | undefined
  /** Hears of an answer that was none, once for each pause it causes. */
  reportFailure?: (error: ProviderError) => void
}

/**
 * Creates the {@link Liveness} of one kind of key. Answers of all three kinds are remembered, in a bounded number.
 *
 * An outage must not hold up every caller in turn: after a failed probe there are none for 30 seconds, and then one
 * only, until one has succeeded.
 */
export function createLiveness(ports: LivenessPorts): Liveness {
  const { provider, runtime, checkSeconds } = ports
  const answers = createBoundedMap<{ life: SessionLife; at: number }>(mostAnswers)
  const asking = new Map<string, Promise<SessionLife>>()
  let isFailing = false
  let pausedUntil = 0

  async function probe(key: string, accessToken: string): Promise<SessionLife> {
    const isTrial = isFailing
    // Nobody else asks before this one is answered.
    if (isTrial) pausedUntil = runtime.now() + pauseSeconds
    try {
      const life = (await provider.probe?.(accessToken)) ?? 'live'
      answers.set(key, { life, at: runtime.now() })
      isFailing = false
      pausedUntil = 0
      return life
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      if (isTrial || !isFailing) ports.reportFailure?.(error)
      isFailing = true
      pausedUntil = runtime.now() + pauseSeconds
      return answers.get(key)?.life ?? 'live'
    }
  }

  return {
    known(key, provenAt) {
      if (checkSeconds === undefined || !provider.probe) return 'live'
      const answer = answers.get(key)
      const life = answer?.life ?? 'live'
      const now = runtime.now()
      const age = now - Math.max(provenAt, answer?.at ?? provenAt)
      // Up to a tenth earlier, so that sessions that began together are not asked about together.
      if (age < checkSeconds * (1 - spreadOf(key) / 10)) return life
      return now < pausedUntil ? life : undefined
    },
    ask(key, accessToken) {
      const running = asking.get(key)
      if (running) return running
      const started = probe(key, accessToken).finally(() => asking.delete(key))
      asking.set(key, started)
      return started
    },
  }
}
