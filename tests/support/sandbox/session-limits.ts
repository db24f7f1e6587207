/** What may end a session from outside; each is checked at the refresh only. */
export interface SessionLimits {
  /** Life of a session, counted from its sign-in. */
  timeboxSeconds?: number
  /** How long a session may go without a refresh. */
  inactivitySeconds?: number
  /** Only the session of a user that signed in or refreshed last goes on. */
  singlePerUser?: boolean
}

/** When a session did what. */
export interface SessionTimes {
  created_at: number
  refreshed_at: number
  /** Grows with every sign-in and refresh of anyone: orders those within one second. */
  activity: number
}

/** Why a session may not go on at `now`, in the words of the real API; undefined when it may. `others` are the user's. */
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
