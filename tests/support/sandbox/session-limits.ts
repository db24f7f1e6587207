/** Limits that may end a session; checked only at the refresh. */
export interface SessionLimits {
  /** Lifetime of a session, from its sign-in. */
  timeboxSeconds?: number
  /** Maximum time between refreshes of a session. */
  inactivitySeconds?: number
  /** Only the session of a user that signed in or refreshed last continues. */
  singlePerUser?: boolean
}

/** Times of a session's events. */
export interface SessionTimes {
  created_at: number
  refreshed_at: number
  /** Increases with every sign-in and refresh of any user, to order those within one second. */
  activity: number
}

/**
 * Returns why a session must not continue at `now`, in the words of the real API; undefined when it may. `others` are
 * the user's.
 */
export function brokenLimit(
  session: SessionTimes,
  others: readonly SessionTimes[],
  limits: SessionLimits,
  now: number,
): string | undefined {
  const outlived = outlivedLimit(session, limits, now)
  if (outlived !== undefined) return outlived
  const isOvertaken = others.some(
    (other) => other.activity > session.activity && outlivedLimit(other, limits, now) === undefined,
  )
  return limits.singlePerUser === true && isOvertaken ? 'Session Expired (Revoked by Newer Login)' : undefined
}

function outlivedLimit(session: SessionTimes, limits: SessionLimits, now: number): string | undefined {
  const { timeboxSeconds = Infinity, inactivitySeconds = Infinity } = limits
  if (now >= session.created_at + timeboxSeconds) return 'Session Expired'
  return now >= session.refreshed_at + inactivitySeconds ? 'Session Expired (Inactivity)' : undefined
}
