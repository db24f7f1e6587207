import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { SessionLife } from '../../core/session/session-provider.ts'
import type { GotrueAnswer } from './call.ts'
import { saysEnded, saysTokenRefused } from './failure.ts'

/**
 * What the answer to `GET /user` says about the session whose access token asked, at `now`; undefined when it says
 * nothing clear, such as a page of a gateway or the refusal of an API key.
 */
export function readLife(answer: GotrueAnswer, now: number): SessionLife | undefined {
  if (answer.kind === 'success') return isJsonObject(answer.body) ? lifeOfUser(answer.body, now) : undefined
  if (saysEnded(answer)) return 'ended'
  return saysTokenRefused(answer) ? 'token_refused' : undefined
}

function lifeOfUser(
  { id, banned_until: bannedUntil }: Record<string, unknown>,
  now: number,
): SessionLife | undefined {
  if (typeof id !== 'string') return undefined
  // Releases before 2026 answer a banned user too, and refuse the refresh only.
  const isBanned = typeof bannedUntil === 'string' && Date.parse(bannedUntil) > now * 1000
  return isBanned ? 'ended' : 'live'
}
