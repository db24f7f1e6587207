import { isSameSource } from '../core/address-block.ts'
import type { DevicePoll, PendingDevice } from '../core/authorization/device-authorization-store.ts'
import type { GrantReplays, GrantUse, RotationTerms } from '../core/session/grant.ts'

/** How long a code is kept after it expires, so that presenting it again is still detected as reuse. */
export const codeRetentionSeconds: number = 24 * 3600

/** How long a device is kept after it expires, so that a late poll gets `expired` instead of `unknown`. */
export const deviceRetentionSeconds: number = 3600

/** Seconds added to the interval of a device that polls too early (RFC 8628 section 3.5). */
export const slowDownSeconds: number = 5

/** The stored state of a device besides its request. */
export interface DeviceState {
  decision: 'approved' | 'denied' | undefined
  /** Its last poll, epoch seconds. */
  polledAt: number | undefined
  /** Seconds added to its polling interval. */
  slowedSeconds: number
}

/**
 * Computes the result of a poll at `now` from the state before it (RFC 8628 section 3.5). Expiry comes first, then the decision: an
 * early poll still learns a decision. The caller stores the poll and the longer interval.
 */
export function pollResult(
  device: PendingDevice,
  { decision, polledAt, slowedSeconds }: DeviceState,
  intervalSeconds: number,
  now: number,
): DevicePoll {
  if (device.expiresAt <= now) return { kind: 'expired' }
  if (decision === 'approved') return { kind: 'approved', device }
  if (decision === 'denied') return { kind: 'denied' }
  const interval = intervalSeconds + slowedSeconds
  if (polledAt === undefined || now - polledAt >= interval) return { kind: 'pending' }
  return { kind: 'slow_down', intervalSeconds: interval + slowDownSeconds }
}

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
