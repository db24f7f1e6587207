import type { IssuedTokens } from '../../credentials/credential.ts'

/** Whether an access token has ended by our clock. One without a known end has not: its server will say so. */
export function hasEnded(tokens: IssuedTokens, now: number): boolean {
  return tokens.expiresAt !== undefined && tokens.expiresAt <= now
}

/**
 * Whether an access token is to be renewed: 10 % of its lifetime before its end, at least 10 and at most 60 seconds, but
 * never more than half of its lifetime, or a token of few seconds would be renewed for every request. `jitter`, from 0 to 1,
 * moves it forward by up to a tenth, so that many processes do not ask in one moment. Never without a known end.
 */
export function isRefreshDue(tokens: IssuedTokens, now: number, jitter: number): boolean {
  if (tokens.expiresAt === undefined) return false
  const lifetime = Math.max(0, tokens.expiresAt - tokens.issuedAt)
  const margin = Math.min(60, Math.max(10, lifetime / 10)) * (1 + jitter / 10)
  return now >= tokens.expiresAt - Math.min(margin, lifetime / 2)
}

const maxPauseMs = 60_000

/**
 * A token of this moment may be refused for good reason, as by a server that has just been started anew. Twelve a minute is
 * what tokens of five seconds need whose end nobody told.
 */
const refusalLimits = [
  { most: 5, windowMs: 10_000 },
  { most: 12, windowMs: 60_000 },
] as const

/** Keeps a process from asking an authorization server again and again. Times in milliseconds that only go forward. */
interface RefreshPace {
  /** How long no request may be sent yet. */
  pauseMs(): number
  succeeded(): void
  /** The server could not say, or nothing came of it. `retryAfterSeconds` is what it asked for. */
  failed(retryAfterSeconds: number | undefined): void
  /** Whether a refused token may be renewed. Not if that has helped nothing too often of late. */
  mayFollowRefusal(): boolean
  /** Counts a refused token that was renewed. What was not answered does not count: pauses are enough for that. */
  followedRefusal(): void
}

/** Doubling pauses from a second to a minute, each between half and whole. `chance` answers 0 to 1, `clock` milliseconds. */
export function createRefreshPace(chance: () => number, clock: () => number): RefreshPace {
  let failures = 0
  let notBefore = 0
  let followed: number[] = []
  return {
    pauseMs: () => Math.max(0, notBefore - clock()),
    succeeded() {
      failures = 0
      notBefore = 0
    },
    failed(retryAfterSeconds) {
      const pause = Math.min(1000 * 2 ** failures, maxPauseMs)
      failures += 1
      const jittered = pause * (0.5 + chance() / 2)
      notBefore = clock() + Math.max(jittered, (retryAfterSeconds ?? 0) * 1000)
    },
    mayFollowRefusal: () =>
      refusalLimits.every(({ most, windowMs }) => followedWithin(windowMs).length < most),
    followedRefusal() {
      followed = [...followedWithin(60_000), clock()]
    },
  }

  function followedWithin(windowMs: number): number[] {
    const since = clock() - windowMs
    return followed.filter((at) => at > since)
  }
}
