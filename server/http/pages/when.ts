const minute = 60
const hour = 60 * minute
const day = 24 * hour

// Spelled out: the first use of Intl.DateTimeFormat permanently costs a process 8 MB.
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

/** Formats a day in UTC from epoch seconds: `21 November 2026`. Without a script the page does not know the user's time zone. */
export function dateText(at: number): string {
  const date = new Date(at * 1000)
  return `${date.getUTCDate()} ${months[date.getUTCMonth()]} ${date.getUTCFullYear()}`
}

/** Formats roughly how long ago `at` was, both in epoch seconds; the date itself after four weeks. */
export function agoText(at: number, now: number): string {
  const seconds = Math.max(0, now - at)
  if (seconds < minute) return 'just now'
  if (seconds < hour) return `${counted(Math.floor(seconds / minute), 'minute')} ago`
  if (seconds < day) return `${counted(Math.floor(seconds / hour), 'hour')} ago`
  return seconds < 28 * day ? `${counted(Math.floor(seconds / day), 'day')} ago` : `on ${dateText(at)}`
}

/** Formats a time for machines: the value of `<time datetime>`, from epoch seconds. */
export function machineTime(at: number): string {
  return new Date(at * 1000).toISOString()
}

function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
