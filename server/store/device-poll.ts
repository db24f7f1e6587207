import type { DevicePoll, PendingDevice } from '../core/authorization/device-authorization-store.ts'

/** How much longer a device that asked too early has to wait from then on (RFC 8628 section 3.5). */
export const slowDownSeconds: number = 5

/** What is kept about a device besides what it asked for. */
export interface DeviceState {
  decision: 'approved' | 'denied' | undefined
  /** When it asked last, epoch seconds. */
  polledAt: number | undefined
  /** What was added to the interval that it is held to. */
  slowedSeconds: number
}

/**
 * What a device that asks at `now` is told, by its state before (RFC 8628 section 3.5). Its end comes first, then the decision:
 * whoever asks too early for what is decided already is told so. The caller stores that it asked and the longer interval.
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
