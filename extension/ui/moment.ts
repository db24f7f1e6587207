import type { Translate } from './message.ts'

const soonSeconds = 300

/** Formats times in the language of the texts and the user's regional variety. All are epoch seconds. */
export type Moments = ReturnType<typeof createMoments>

/** Creates formatters relative to `now`. */
export function createMoments(translate: Translate, now: number) {
  const language = translate('locale')
  const locale = navigator.languages.find((preferred) => preferred.startsWith(language)) ?? language
  const count = (number: number, unit: string, unitDisplay?: 'long'): string =>
    number.toLocaleString(locale, { style: 'unit', unit, unitDisplay })
  return {
    /** Date and time of day. */
    date: (at: number): string =>
      new Date(at * 1000).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' }),
    /** Countdown: `4:09`, `2:03:04`, `3 days`, or words for expired or unknown. Fractions are rounded up. */
    left(expiresAt: number | undefined): string {
      if (expiresAt === undefined) return translate('end_unknown')
      const seconds = Math.ceil(expiresAt - now)
      if (seconds <= 0) return translate('end_over')
      if (seconds >= 86_400) return count(Math.floor(seconds / 86_400), 'day', 'long')
      const two = (part: number): string => String(Math.floor(part) % 60).padStart(2, '0')
      const hours = Math.floor(seconds / 3600)
      const minutes = hours > 0 ? `${hours}:${two(seconds / 60)}` : Math.floor(seconds / 60)
      return `${minutes}:${two(seconds)}`
    },
    /** Returns whether less than five minutes remain. */
    isSoon: (expiresAt: number | undefined): boolean =>
      expiresAt !== undefined && expiresAt - now < soonSeconds,
    /** Whole minutes, at least one: `47 min`. */
    minutesLeft: (expiresAt: number): string =>
      count(Math.max(1, Math.floor((expiresAt - now) / 60)), 'minute'),
  }
}
