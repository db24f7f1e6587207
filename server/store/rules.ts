import { isSameSource } from '../core/address-block.ts'
import type { GrantReplays, GrantUse, RotationTerms } from '../core/session/grant.ts'

/** How long a code is kept after it expires, so that presenting it again is still detected as reuse. */
export const codeRetentionSeconds: number = 24 * 3600

/** How long a device is kept after it expires, so that a late poll gets `expired` instead of `unknown`. */
export const deviceRetentionSeconds: number = 3600

/** The stored state of a used refresh token. Times are epoch seconds. */
export interface TokenUse {
  usedAt: number
  /** Address of its use; undefined if unknown. */
  address: string | undefined
  /** When its successor's access token was first used; undefined: not yet, or it was not recorded. */
  accessUsedAt: number | undefined
  /** When its successor's refresh token was used; undefined: not yet. */
  successorUsedAt: number | undefined
}

/**
 * Returns whether a used refresh token returns its successor once more. Until the successor is used, its response may have been
 * lost: `replaySeconds` apply. After that only concurrent callers may still arrive: `usedReplaySeconds` apply, within the former.
 */
export function isReplayable(
  { usedAt, accessUsedAt, successorUsedAt }: TokenUse,
  terms: RotationTerms,
): boolean {
  const { now, replaySeconds, usedReplaySeconds } = terms
  const firstUse = Math.min(accessUsedAt ?? Infinity, successorUsedAt ?? Infinity)
  return now <= Math.min(usedAt + replaySeconds, firstUse + usedReplaySeconds)
}

/** Returns when the stored response to a refresh expires: a minute after the last replay, as clocks differ. */
export function replayEnd({ now, replaySeconds }: RotationTerms): number {
  return now + replaySeconds + 60
}

/** Returns the two addresses of a replay if they are known and from different sources, by the blocks that limits count. */
export function differentAddresses(
  { address: first }: Pick<TokenUse, 'address'>,
  { address: other }: Pick<RotationTerms, 'address'>,
): GrantReplays['addresses'] {
  if (first === undefined || other === undefined) return undefined
  return isSameSource(first, other) ? undefined : [first, other]
}

/** Merges `uses` in order of time into one use per grant. */
export function mergeUses(uses: readonly GrantUse[]): GrantUse[] {
  const merged = new Map<string, GrantUse>()
  for (const use of uses.toSorted((one, other) => one.usedAt - other.usedAt)) {
    const earlier = merged.get(use.grantId)
    merged.set(use.grantId, {
      ...use,
      tool: use.tool ?? earlier?.tool,
      twoAddresses: laterOf(earlier?.twoAddresses, use.twoAddresses),
    })
  }
  return [...merged.values()]
}

function laterOf(one: GrantUse['twoAddresses'], other: GrantUse['twoAddresses']): GrantUse['twoAddresses'] {
  if (!one || !other) return one ?? other
  return one.at > other.at ? one : other
}
