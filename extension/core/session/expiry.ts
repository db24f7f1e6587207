/** How much of a token's life is left, as parts of a text. */
export type TimeLeft =
  /** Nobody says when it ends. */
  | { kind: 'unknown' }
  | { kind: 'over' }
  /** Under a day: `4:09`, `47:12`, `2:03:04`. `soon` when under five minutes are left. */
  | { kind: 'clock'; text: string; soon: boolean }
  /** A day and more, in whole days. */
  | { kind: 'days'; days: number }

/** From this many seconds before its end a token ends soon. */
export const soonSeconds = 300

/** What is left at `now`. Both are epoch seconds; a part of a second counts as a whole one. */
export function timeLeft(expiresAt: number | undefined, now: number): TimeLeft {
  if (expiresAt === undefined) return { kind: 'unknown' }
  const seconds = Math.ceil(expiresAt - now)
  if (seconds <= 0) return { kind: 'over' }
  if (seconds >= 86_400) return { kind: 'days', days: Math.floor(seconds / 86_400) }
  const two = (part: number): string => String(Math.floor(part) % 60).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  const minutes = hours > 0 ? `${hours}:${two(seconds / 60)}` : Math.floor(seconds / 60)
  return { kind: 'clock', text: `${minutes}:${two(seconds)}`, soon: endsSoon(expiresAt, now) }
}

/** Whether under five minutes are left, or none. */
export function endsSoon(expiresAt: number | undefined, now: number): boolean {
  return expiresAt !== undefined && expiresAt - now < soonSeconds
}
