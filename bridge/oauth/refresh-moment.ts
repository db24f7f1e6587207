import type { IssuedTokens } from '../credentials/credential.ts'

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
