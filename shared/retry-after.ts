/** An hour: a server that asks for more gets another try then. */
const maxRetryAfterSeconds = 3600

/**
 * Returns how many seconds to wait by the `Retry-After` of a response (RFC 9110 section 10.2.3), at most an hour; undefined without
 * one that can be read. A date is measured by the `Date` of the same response if there is one, because the clock of this computer
 * may be wrong.
 */
export function retryAfterSeconds(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  nowEpochSeconds?: number,
): number | undefined {
  const value = String(headers['retry-after'] ?? '').trim()
  const [, seconds] = /^(\d+)(?:\s*,|$)/.exec(value) ?? []
  if (seconds !== undefined) return Math.min(Number(seconds), maxRetryAfterSeconds)
  const until = readHttpDate(value)
  if (until === undefined) return undefined
  const now = readHttpDate(String(headers['date'] ?? '')) ?? nowEpochSeconds
  if (now === undefined) return undefined
  return Math.min(Math.max(until - now, 0), maxRetryAfterSeconds)
}

/** Epoch seconds. `Date.parse` alone reads all kinds of text as a date, a lone number too. */
function readHttpDate(text: string): number | undefined {
  if (!/^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/.test(text)) return undefined
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000)
}
