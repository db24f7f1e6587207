/** A device waiting for approval (RFC 8628). Times are epoch seconds. */
export interface PendingDevice {
  /** Hash under which its authorization code is stored once approved, so that it is redeemed like any other. */
  deviceHash: string
  userCodeHash: string
  clientId: string
  scope: string
  resource: string
  /** The device's address, shown to the user who approves it. */
  address: string | undefined
  createdAt: number
  expiresAt: number
}

/** Result of a poll. */
export type DevicePoll =
  | { kind: 'unknown' }
  | { kind: 'expired' }
  | { kind: 'slow_down' }
  | { kind: 'pending' }
  | { kind: 'denied' }
  | { kind: 'approved'; device: PendingDevice }

export interface DeviceStore {
  /** Returns false if another pending device has the same user code. */
  addDevice(device: PendingDevice): Promise<boolean>
  findDevice(userCodeHash: string, now: number): Promise<PendingDevice | undefined>
  /** Returns true for the one call that decided about it before it expired. */
  decideDevice(deviceHash: string, decision: 'approved' | 'denied', now: number): Promise<boolean>
  /**
   * Counts a poll. One that comes sooner after the previous one than `intervalSeconds`, less a second for the network, returns
   * `slow_down` (RFC 8628 section 3.5). The client then waits longer; one that does not, and keeps to the first
   * interval, is still in time. An approved device is `approved` at every poll until it expires; its code tracks
   * whether it was redeemed.
   */
  pollDevice(deviceHash: string, intervalSeconds: number, now: number): Promise<DevicePoll>
}
