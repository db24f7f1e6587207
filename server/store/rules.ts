import { isSameSource } from '../core/address-block.ts'
import type { DevicePoll, PendingDevice } from '../core/authorization/device-authorization-store.ts'
import type { GrantReplays, GrantUse, RotationTerms } from '../core/session/grant.ts'

/** How long a code is kept after its end, so that presenting it again is still noticed as reuse. */
export const codeRetentionSeconds: number = 24 * 3600

/** How long a device is kept after its end, so that a late poll gets `expired` instead of `unknown`. */
export const deviceRetentionSeconds: number = 3600

/** What is added to the interval of a device that polls too early (RFC 8628 section 3.5). */
export const slowDownSeconds: number = 5

/** What is stored about a device in addition to its request. */
export interface DeviceState {
  decision: 'approved' | 'denied' | undefined
  /** When it asked last, epoch seconds. */
  polledAt: number | undefined
  /** What was added to its polling interval. */
  slowedSeconds: number
}

/**
 * The result of a poll at `now`, by the state before it (RFC 8628 section 3.5). Its end comes first, then the decision: an
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

/** What `uses` come to when they are noted one after the other in order of time: one use for each grant. */
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
