import { isSameSource } from '../core/access/address-block.ts'
import type { GrantReplays, RotationTerms } from '../core/session/grant.ts'

/** What is stored about the use of a refresh token. Times are epoch seconds. */
export interface TokenUse {
  usedAt: number
  /** From where it was used; undefined: not known. */
  address: string | undefined
  /** When its successor's access token was first used; undefined: not yet, or it needed no note. */
  accessUsedAt: number | undefined
  /** When its successor's refresh token was used; undefined: not yet. */
  successorUsedAt: number | undefined
}

/**
 * Whether a refresh token that was used before is answered with its successor once more. Until the successor is used its
 * answer may have been lost, and `replaySeconds` hold; from then on only callers that raced may still come, and
 * `usedReplaySeconds` hold, within the former.
 */
export function isReplayable(
  { usedAt, accessUsedAt, successorUsedAt }: TokenUse,
  terms: RotationTerms,
): boolean {
  const { now, replaySeconds, usedReplaySeconds } = terms
  const firstUse = Math.min(accessUsedAt ?? Infinity, successorUsedAt ?? Infinity)
  return now <= Math.min(usedAt + replaySeconds, firstUse + usedReplaySeconds)
}

/** How long the answer to a refresh is stored: for as long as it may be given again, and a minute more, as clocks differ. */
export function replayEnd({ now, replaySeconds }: RotationTerms): number {
  return now + replaySeconds + 60
}

/** The two addresses of a replay when they are known and of different sources, by the blocks that limits count. */
export function differentAddresses(
  { address: first }: Pick<TokenUse, 'address'>,
  { address: other }: Pick<RotationTerms, 'address'>,
): GrantReplays['addresses'] {
  if (first === undefined || other === undefined) return undefined
  return isSameSource(first, other) ? undefined : [first, other]
}
