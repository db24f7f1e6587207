/** A token's remaining lifetime, as parts of a text. */
export type TimeLeft =
  /** No known expiry. */
  | { kind: 'unknown' }
  | { kind: 'over' }
  /** Under a day: `4:09`, `47:12`, `2:03:04`. */
  | { kind: 'clock'; text: string }
  /** A day or more, in whole days. */
  | { kind: 'days'; days: number }

/** A token ends soon from this many seconds before its expiry. */
export const soonSeconds = 300

/** Returns the remaining time. Both arguments are epoch seconds; fractions are rounded up. */
export function timeLeft(expiresAt: number | undefined, now: number): TimeLeft {
  if (expiresAt === undefined) return { kind: 'unknown' }
  const seconds = Math.ceil(expiresAt - now)
  if (seconds <= 0) return { kind: 'over' }
  if (seconds >= 86_400) return { kind: 'days', days: Math.floor(seconds / 86_400) }
  const two = (part: number): string => String(Math.floor(part) % 60).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  const minutes = hours > 0 ? `${hours}:${two(seconds / 60)}` : Math.floor(seconds / 60)
  return { kind: 'clock', text: `${minutes}:${two(seconds)}` }
}

/** Returns whether less than five minutes remain, or none. */
export function endsSoon(expiresAt: number | undefined, now: number): boolean {
  return expiresAt !== undefined && expiresAt - now < soonSeconds
}
