/** A device that waits for approval (RFC 8628). Times are epoch seconds. */
export interface PendingDevice {
  /** Under this hash its authorization code is stored once it is approved, so that it is redeemed like any other. */
  deviceHash: string
  userCodeHash: string
  clientId: string
  scope: string
  resource: string
  /** From where the device asked; shown to the person who allows it. */
  address: string | undefined
  createdAt: number
  expiresAt: number
}

/** What a device that asks is told. `slow_down` comes with the interval that holds from then on. */
export type DevicePoll =
  | { kind: 'unknown' }
  | { kind: 'expired' }
  | { kind: 'slow_down'; intervalSeconds: number }
  | { kind: 'pending' }
  | { kind: 'denied' }
  | { kind: 'approved'; device: PendingDevice }

/** Where devices wait. */
export interface DeviceStore {
  /** False when another device, not yet collected, has the same user code. */
  addDevice(device: PendingDevice): Promise<boolean>
  /** Only a device that is still undecided and has not expired. */
  findDevice(userCodeHash: string, now: number): Promise<PendingDevice | undefined>
  /** True for the one call that decided about it, while it had not expired. */
  decideDevice(deviceHash: string, decision: 'approved' | 'denied', now: number): Promise<boolean>
  /**
   * Counts a poll. One that comes earlier than `intervalSeconds` after the one before is told to slow down, and adds
   * five seconds to the interval that it is held to (RFC 8628 section 3.5). An approved device is `approved` at every poll
   * until it has expired: whether its code was redeemed is for the code to say.
   */
  pollDevice(deviceHash: string, intervalSeconds: number, now: number): Promise<DevicePoll>
}
