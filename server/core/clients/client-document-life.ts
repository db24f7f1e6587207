import type { DocumentFreshness } from './client.ts'

const minSeconds = 30
const usualSeconds = 300
const maxSeconds = 24 * 3600
const maxEtagLength = 200

/**
 * How long the response with those headers may be used unasked (RFC 9111 sections 4.2 and 5.2.2): what `max-age` or `Expires`
 * leaves of it, five minutes when the host does not say, and never less than 30 seconds, so that a client cannot make us fetch
 * for every request, or more than a day.
 */
export function freshnessOf(headers: Headers, now: number): DocumentFreshness {
  const seconds = lifetimeOf(headers, now)
  const bounded = Math.min(Math.max(seconds, minSeconds), maxSeconds)
  return { fetchedAt: now, freshUntil: now + bounded, etag: etagOf(headers) }
}

function lifetimeOf(headers: Headers, now: number): number {
  const directives = cacheDirectives(headers.get('cache-control') ?? '')
  if (directives.has('no-store') || directives.has('no-cache')) return 0
  const age = wholeSeconds(headers.get('age') ?? undefined) ?? 0
  if (directives.has('max-age')) return (wholeSeconds(directives.get('max-age')) ?? 0) - age
  const expires = headers.get('expires')
  if (expires === null) return usualSeconds
  // Measured with the clock of the host, which may be wrong by hours.
  const sentAt = Date.parse(headers.get('date') ?? '')
  const seconds = (Date.parse(expires) - (Number.isNaN(sentAt) ? now * 1000 : sentAt)) / 1000
  // RFC 9111 section 5.3: a date that cannot be read is in the past.
  return Number.isNaN(seconds) ? 0 : Math.floor(seconds) - age
}

function cacheDirectives(header: string): Map<string, string> {
  const directives = header.split(',').map((part): [name: string, value: string] => {
    const [name = '', value = ''] = part.split('=', 2)
    return [name.trim().toLowerCase(), value.trim().replaceAll('"', '')]
  })
  return new Map(directives)
}

function wholeSeconds(text: string | undefined): number | undefined {
  // RFC 9111 section 1.2.2: what is too large to be counted is a large number, and never an endless one.
  return text !== undefined && /^\d+$/.test(text) ? Math.min(Number(text), 2 ** 31) : undefined
}

/** The entity tag, when it is one (RFC 9110 section 8.8.3): it is sent back as it came. */
function etagOf(headers: Headers): string | undefined {
  const etag = headers.get('etag') ?? ''
  return etag.length <= maxEtagLength && /^(?:W\/)?"[\x21\x23-\x7E]*"$/.test(etag) ? etag : undefined
}
