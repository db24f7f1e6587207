import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import type { Visit } from './visit.ts'

const worthKnowingSeconds = 30
const brokenSeconds = 300

/**
 * How far the clock here is from the provider's, by the `Date` of its answer. A second is lost to rounding, and the time
 * the answer took. Silent when no answer has one.
 */
export function checkClock(visits: readonly Visit[], now: number): Finding[] {
  const name = 'clock'
  const found = visits.map(dateOf).find((date) => date !== undefined)
  if (found === undefined) return []
  const skew = now - found
  const size = Math.abs(skew)
  const text = `The clock here is ${size} s ${skew < 0 ? 'behind' : 'ahead of'} that of the provider`
  const fix = 'Let this machine keep its time by NTP (timedatectl set-ntp true).'
  if (size > brokenSeconds) return [fail(name, `${text}: tokens count as expired or not yet valid.`, fix)]
  if (size > worthKnowingSeconds) return [warn(name, `${text}.`, fix)]
  return [ok(name, `The clock here agrees with that of the provider${size > 1 ? ` within ${size} s` : ''}.`)]
}

/** Epoch seconds at which the answer was made; a cache may have kept it since. */
function dateOf(visit: Visit): number | undefined {
  if (visit.kind === 'unreachable') return undefined
  const made = Date.parse(visit.headers.get('date') ?? '')
  const age = Number(visit.headers.get('age') ?? 0)
  return Number.isNaN(made) ? undefined : Math.floor(made / 1000) + (Number.isFinite(age) ? age : 0)
}
