/** Longest answer that is read, in bytes. The answers of a session provider are a few kilobytes long. */
const maxBytes = 1_000_000

/**
 * The text of an answer, or undefined when it is longer than a megabyte: the rest is never received.
 * Rejects when the connection breaks. Invalid UTF-8 becomes replacement characters.
 */
export async function readBoundedText(response: Response): Promise<string | undefined> {
  if (response.body === null) return ''
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) {
    await response.body.cancel()
    return undefined
  }
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels the stream.
  for await (const chunk of response.body) {
    length += chunk.byteLength
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return new TextDecoder().decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
}

const maxSeconds = 999_999

/**
 * What a `Retry-After` field says (RFC 9110 section 10.2.3), as seconds from `now`; a date in the past is 0. Undefined
 * for anything else, also for more than eleven days, which is not meant seriously.
 */
export function parseRetryAfter(text: string | null, now: number): number | undefined {
  const seconds = secondsOf((text ?? '').trim(), now)
  return seconds !== undefined && seconds <= maxSeconds ? seconds : undefined
}

function secondsOf(text: string, now: number): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  // Date.parse takes all sorts of text, so a date must at least begin as one.
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  const milliseconds = Date.parse(text)
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, Math.ceil(milliseconds / 1000) - now)
}
