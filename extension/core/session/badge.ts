import { endsSoon } from './expiry.ts'
import type { SessionsReading } from './session-reader.ts'

/** The badge on the toolbar icon. States differ in text, not only in colour. */
export interface Badge {
  /** Empty for none; `59`, `!4`, `3h`, `2d`, or `x` when expired. At most three characters. */
  text: string
  tone: 'none' | 'fresh' | 'soon' | 'over'
  /** Whole minutes left, for the tooltip. */
  minutes: number | undefined
}

/** Returns the badge for the first session of a tab. Empty without a session or a known expiry. */
export function badgeFor(reading: SessionsReading, now: number): Badge {
  const expiresAt = reading.kind === 'sessions' ? reading.sessions[0]?.view.expiresAt : undefined
  if (expiresAt === undefined) return { text: '', tone: 'none', minutes: undefined }
  if (expiresAt <= now) return { text: 'x', tone: 'over', minutes: 0 }
  const minutes = Math.floor((expiresAt - now) / 60)
  return endsSoon(expiresAt, now)
    ? { text: `!${minutes}`, tone: 'soon', minutes }
    : { text: shortText(minutes), tone: 'fresh', minutes }
}

function shortText(minutes: number): string {
  if (minutes < 100) return String(minutes)
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours}h` : `${Math.min(99, Math.floor(hours / 24))}d`
}
