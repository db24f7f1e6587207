import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AttemptStore } from './attempt.ts'
import { ProviderError } from './session-provider.ts'

const windowSeconds = 60
// One key: what is protected is the rate limit that the provider has for this server as a whole. Limits per account
// and per address get keys of their own.
const everyoneKey = 'sign-in'

/** What the limit needs from outside. */
export interface SignInLimitPorts {
  store: AttemptStore
  runtime: Pick<Runtime, 'now'>
  /** Attempts per minute, of everybody at all instances together. */
  limitPerMinute: number
}

/**
 * Counts an attempt to sign in before anything of it is sent to the provider; rejects with `rate_limited` over the limit.
 *
 * To the provider all users come from one address, so people (or a program) trying passwords would use up the calls
 * that keep the sessions of everybody else alive.
 */
export async function countSignInAttempt({
  store,
  runtime,
  limitPerMinute,
}: SignInLimitPorts): Promise<void> {
  const now = runtime.now()
  const { count, windowEndsAt } = await store.countAttempt(everyoneKey, windowSeconds, now)
  if (count <= limitPerMinute) return
  throw new ProviderError('rate_limited', 'The limit of sign-in attempts of this server is reached.', {
    retryAfterSeconds: Math.max(1, windowEndsAt - now),
  })
}
