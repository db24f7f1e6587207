import type { HttpResponse } from './http-client.ts'

/** An hour: a server that asks for more gets another try then. */
const maxSeconds = 3600

/**
 * How many seconds to wait by the `Retry-After` of a response (RFC 9110 section 10.2.3), at most an hour; `undefined`
 * without one that can be read. A date is measured by the `Date` of the same response if there is one, because the clock
 * of this computer may be wrong.
 */
export function retryAfterSeconds(
  headers: HttpResponse['headers'],
  nowEpochSeconds: number,
): number | undefined {
  const value = firstValue(headers['retry-after'])
  if (value === undefined) return undefined
  const [, seconds] = /^(\d+)(?:\s*,|$)/.exec(value) ?? []
  if (seconds !== undefined) return Math.min(Number(seconds), maxSeconds)
  const until = readHttpDate(value)
  if (until === undefined) return undefined
  const now = readHttpDate(firstValue(headers['date']) ?? '') ?? nowEpochSeconds
  return Math.min(Math.max(until - now, 0), maxSeconds)
}

/** Epoch seconds. `Date.parse` alone reads all kinds of text as a date, a lone number too. */
function readHttpDate(text: string): number | undefined {
  if (!/^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/.test(text)) return undefined
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}

function firstValue(header: string | string[] | undefined): string | undefined {
  return (Array.isArray(header) ? header[0] : header)?.trim()
}
