import { timeLeft } from '../core/session/expiry.ts'
import type { Translate } from './message.ts'

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
    /** Countdown: `47:12`, `3 days`, or words for expired or unknown. */
    left(expiresAt: number | undefined): string {
      const time = timeLeft(expiresAt, now)
      if (time.kind === 'clock') return time.text
      return time.kind === 'days' ? count(time.days, 'day', 'long') : translate(`end_${time.kind}`)
    },
    /** Whole minutes, at least one: `47 min`. */
    minutesLeft: (expiresAt: number): string =>
      count(Math.max(1, Math.floor((expiresAt - now) / 60)), 'minute'),
  }
}
