import { addressKey, type AttemptLimitPorts, countWithin } from './attempt-limit.ts'

const windowSeconds = 600
const mostOfAddress = 30
// Each is a row for an hour. Five a second is far more than people can allow.
const mostOfAll = 3000

/**
 * Counts a device that wants to start, and answers how many seconds it has to wait; 0: not at all. Starting needs no
 * credential, so one address has its limit, and all of them together have one that bounds what is stored.
 */
export function countDeviceStart(address: string | undefined, ports: AttemptLimitPorts): Promise<number> {
  const ofAddress =
    address === undefined
      ? []
      : [{ key: addressKey('device start', address), most: mostOfAddress, windowSeconds }]
  return countWithin([...ofAddress, { key: 'device start', most: mostOfAll, windowSeconds }], ports)
}
