const longestPauseMs = 60_000

/**
 * A token of this moment may be refused for good reason, as by a server that has just been started anew. Twelve a minute is
 * what tokens of five seconds need whose end nobody told.
 */
const refusalLimits = [
  { most: 3, windowMs: 10_000 },
  { most: 12, windowMs: 60_000 },
] as const

/** Keeps a process from asking an authorization server again and again. Times in milliseconds that only go forward. */
export interface RefreshPace {
  /** How long no request may be sent yet. */
  pauseMs(): number
  succeeded(): void
  /** The server could not say, or nothing came of it. `retryAfterSeconds` is what it asked for. */
  failed(retryAfterSeconds: number | undefined): void
  /** Counts a renewal that a refusal asks for, before it is sent. False when there were too many. */
  mayFollowRefusal(): boolean
}

/** Doubling pauses from a second to a minute, each between half and whole. `chance` answers 0 to 1, `clock` milliseconds. */
export function createRefreshPace(chance: () => number, clock: () => number): RefreshPace {
  let failures = 0
  let notBefore = 0
  let refusals: number[] = []
  return {
    pauseMs: () => Math.max(0, notBefore - clock()),
    succeeded() {
      failures = 0
      notBefore = 0
    },
    failed(retryAfterSeconds) {
      const pause = Math.min(1000 * 2 ** failures, longestPauseMs)
      failures += 1
      const jittered = pause * (0.5 + chance() / 2)
      notBefore = clock() + Math.max(jittered, (retryAfterSeconds ?? 0) * 1000)
    },
    mayFollowRefusal() {
      const now = clock()
      const within = (windowMs: number): number[] => refusals.filter((at) => at > now - windowMs)
      if (refusalLimits.some(({ most, windowMs }) => within(windowMs).length >= most)) return false
      refusals = [...within(60_000), now]
      return true
    },
  }
}
