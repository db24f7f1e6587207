import { addressKey, type AttemptLimitPorts, countWithin } from './attempt-limit.ts'

// A code has 34 random bits and lives for 15 minutes. With a thousand devices waiting, all addresses together guess one of
// them within one of 40 thousand windows (RFC 8628 section 5.1).
const windowSeconds = 600
const mostOfAddress = 10
const mostOfAll = 600

/**
 * Counts a user code that somebody enters, before anybody looks for it, right or wrong: otherwise the right one would come
 * through however many were tried before. Answers how many seconds it has to wait; 0: not at all.
 *
 * What it cannot stop: sixty addresses together use up what there is for all. Devices that are connected go on.
 */
export function countUserCode(address: string | undefined, ports: AttemptLimitPorts): Promise<number> {
  const ofAddress =
    address === undefined
      ? []
      : [{ key: addressKey('device code', address), most: mostOfAddress, windowSeconds }]
  return countWithin([...ofAddress, { key: 'device code', most: mostOfAll, windowSeconds }], ports)
}
