import { NetworkError } from './http-client.ts'
import type { HttpRequest } from './http-client.ts'
import { nodeHttp } from './node-http.ts'

/**
 * The headers of a request as they go onto the wire: those given, `User-Agent` if there is none, and the length of the
 * body. No `Accept-Encoding`, so that bodies come as they are. Throws {@link NetworkError} `protocol` for a name or value
 * that HTTP does not allow: a line end in it would start a header, or a request, of somebody else's choice.
 */
export function requestHeaders(
  request: HttpRequest,
  userAgent: string,
  origin: string,
): Record<string, string> {
  const headers: Record<string, string> = {}
  let named = false
  for (const [name, value] of Object.entries(request.headers)) {
    if (!isAllowed(name, value)) {
      throw new NetworkError(
        'protocol',
        origin,
        `a header for ${origin} has a character that HTTP does not allow`,
        {
          sent: false,
        },
      )
    }
    headers[name] = value
    if (name.toLowerCase() === 'user-agent') named = true
  }
  if (!named) headers['User-Agent'] = userAgent
  if (request.body !== undefined) headers['Content-Length'] = String(Buffer.byteLength(request.body))
  return headers
}

function isAllowed(name: string, value: string): boolean {
  try {
    nodeHttp.validateHeaderName(name)
    nodeHttp.validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}
