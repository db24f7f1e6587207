const minute = 60
const hour = 60 * minute
const day = 24 * hour

// Spelled out: the first use of Intl.DateTimeFormat costs a process 8 MB for good.
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

/** A day as people write it, in UTC, from epoch seconds: `21 November 2026`. The page has no script to ask for their zone. */
export function dateText(at: number): string {
  const date = new Date(at * 1000)
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

/** How long ago `at` was, roughly; both are epoch seconds. After four weeks the date itself. */
export function agoText(at: number, now: number): string {
  const seconds = Math.max(0, now - at)
  if (seconds < minute) return 'just now'
  if (seconds < hour) return `${counted(Math.floor(seconds / minute), 'minute')} ago`
  if (seconds < day) return `${counted(Math.floor(seconds / hour), 'hour')} ago`
  return seconds < 28 * day ? `${counted(Math.floor(seconds / day), 'day')} ago` : `on ${dateText(at)}`
}

/** A time as machines read it: the value of `<time datetime>`, from epoch seconds. */
export function machineTime(at: number): string {
  return new Date(at * 1000).toISOString()
}

function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
