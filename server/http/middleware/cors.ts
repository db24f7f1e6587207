import type { CorsAudience } from '../endpoint.ts'
import type { TextResponse } from '@drawbridge/shared/text-response.ts'

const allowedRequestHeaders = [
  'authorization',
  'content-type',
  'accept',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
]

const maxHeaderListLength = 4096
const maxParameterHeaders = 50

/** Returns the audience of public responses: discovery, registration and tokens, none of which reads cookies. */
export const everyone = (): CorsAudience => ({ kind: 'everyone' })

/** Returns the headers that a preflight requests, in lower case; none when the list is absurdly long. */
export function requestedHeaders(request: Request): string[] {
  const list = request.headers.get('access-control-request-headers') ?? ''
  // Split at the comma alone: a pattern with blanks around it takes quadratic time on a hostile list.
  return list.length > maxHeaderListLength ? [] : list.split(',').map((name) => name.trim().toLowerCase())
}

/** Responds to a preflight: the methods of the endpoint, the headers MCP clients send, and any requested `Mcp-Param-*`. */
export function preflight(request: Request, methods: readonly string[]): TextResponse {
  const parameters = requestedHeaders(request)
    .filter((name) => /^mcp-param-[a-z0-9_-]{1,100}$/.test(name))
    .slice(0, maxParameterHeaders)
  return {
    status: 204,
    body: null,
    headers: {
      'access-control-allow-methods': [...methods, 'OPTIONS'].join(', '),
      'access-control-allow-headers': [...allowedRequestHeaders, ...parameters].join(', '),
      'access-control-max-age': '86400',
      vary: 'Access-Control-Request-Headers',
    },
  }
}
