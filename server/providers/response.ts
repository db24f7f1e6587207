import type { ProviderFailure } from '../core/session/session-provider.ts'

/** Maximum bytes read of a response. A session provider's responses are a few kilobytes. */
const maxBytes = 1_000_000

/**
 * Reads the body of a response; undefined if it is longer than a megabyte: the rest is never received. Rejects when the connection
 * breaks.
 */
export async function readBoundedBody(response: Response): Promise<Buffer<ArrayBuffer> | undefined> {
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) {
    await response.body?.cancel()
    return undefined
  }
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels the stream.
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Reads the same as text. Invalid UTF-8 becomes replacement characters. */
export async function readBoundedText(response: Response): Promise<string | undefined> {
  const body = await readBoundedBody(response)
  return body && new TextDecoder().decode(body)
}

/** Returns the failure that an error status means by itself. */
export function failureOfStatus(status: number): ProviderFailure {
  if (status === 429) return 'rate_limited'
  return status >= 500 || [408, 409, 425].includes(status) ? 'transient' : 'protocol'
}

const maxSeconds = 999_999

/**
 * Parses a `Retry-After` field (RFC 9110 section 10.2.3) into seconds from `now`; a date in the past is 0. Undefined for anything
 * else, also for more than eleven days, which cannot be meant.
 */
export function parseRetryAfter(text: string | null, now: number): number | undefined {
  const seconds = secondsOf((text ?? '').trim(), now)
  return seconds !== undefined && seconds <= maxSeconds ? seconds : undefined
}

function secondsOf(text: string, now: number): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  // Date.parse accepts all sorts of text, so require the start of a date.
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  const milliseconds = Date.parse(text)
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, Math.ceil(milliseconds / 1000) - now)
}
