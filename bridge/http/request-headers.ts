import { NetworkError } from './http-client.ts'
import type { HttpRequest } from './http-client.ts'

const allowedName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
// Tabs, and all of Latin-1 that is no control character (RFC 9110 section 5.5).
const forbiddenInValue = /[^\t\x20-\x7e\x80-\xff]/

/**
 * The headers of a request as they go onto the wire: `usual` ones unless others are given, then those given; of two with one
 * name the later. Not the length of the body. No `Accept-Encoding`, so that bodies come as they are. Throws
 * {@link NetworkError} `protocol` for a name or value that HTTP does not allow: a line end in it would start a header, or a
 * request, of somebody else's choice.
 */
export function requestHeaders(
  given: HttpRequest['headers'],
  usual: Readonly<Record<string, string>>,
  origin: string,
): [name: string, value: string][] {
  const headers = new Map<string, [name: string, value: string]>()
  for (const [name, value] of [...Object.entries(usual), ...Object.entries(given)]) {
    if (!allowedName.test(name) || forbiddenInValue.test(value)) {
      const message = `a header for ${origin} has a character that HTTP does not allow`
      throw new NetworkError('protocol', origin, message, { sent: false })
    }
    headers.set(name.toLowerCase(), [name, value])
  }
  return [...headers.values()]
}
