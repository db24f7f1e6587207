const mostSeconds = 999_999

/**
 * What a `Retry-After` field says (RFC 9110 section 10.2.3), as seconds from `now`; a date in the past is 0. Undefined
 * for anything else, also for more than eleven days, which nobody means.
 */
export function parseRetryAfter(text: string | null, now: number): number | undefined {
  const seconds = secondsOf((text ?? '').trim(), now)
  return seconds !== undefined && seconds <= mostSeconds ? seconds : undefined
}

function secondsOf(text: string, now: number): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  // Date.parse takes all sorts of text, so a date must at least begin as one.
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  const milliseconds = Date.parse(text)
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, Math.ceil(milliseconds / 1000) - now)
}
