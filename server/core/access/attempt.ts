/** Counts attempts across all instances, so that a limit holds however many of them there are. */
export interface AttemptStore {
  /**
   * Counts one more attempt under `key` and answers how many there are in its window, this one included, and when the
   * window ends (epoch seconds). A window begins with the first attempt after the last one ended.
   */
  countAttempt(
    key: string,
    windowSeconds: number,
    now: number,
  ): Promise<{ count: number; windowEndsAt: number }>
  /**
   * Takes one attempt back that was counted under `key` in the window that ends at `windowEndsAt`. Does nothing when another
   * window has begun since, or when the count is 0.
   */
  returnAttempt(key: string, windowEndsAt: number): Promise<void>
}

/** Where an attempt comes from. */
export interface AttemptSource {
  /** IP address; undefined: no limit per address holds. */
  address: string | undefined
  /** A browser that has signed in before, or a client that somebody uses. */
  known: boolean
}
