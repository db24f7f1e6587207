import type { CorsAudience } from '../endpoint.ts'
import type { TextResponse } from '@drawbridge/shared/text-response.ts'

const allowedRequestHeaders = [
  'authorization',
  'content-type',
  'accept',
  'accept-language',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
  'traceparent',
  'tracestate',
  'baggage',
]

const maxHeaderListLength = 4096
const maxMcpHeaders = 50

/** Returns the audience of public responses: discovery, registration and tokens, none of which reads cookies. */
export const everyone = (): CorsAudience => ({ kind: 'everyone' })

/** Returns the headers that a preflight requests, in lower case; none when the list is absurdly long. */
export function requestedHeaders(request: Request): string[] {
  const list = request.headers.get('access-control-request-headers') ?? ''
  // Split at the comma alone: a pattern with blanks around it takes quadratic time on a hostile list.
  return list.length > maxHeaderListLength ? [] : list.split(',').map((name) => name.trim().toLowerCase())
}

/**
 * Responds to a preflight: the methods of the endpoint, the headers MCP clients send and those that the endpoint reads, and any
 * requested `Mcp-*`, such as `Mcp-Param-*` and those of later revisions, which go on to an upstream.
 */
export function preflight(
  request: Request,
  methods: readonly string[],
  readsHeaders: readonly string[] = [],
): TextResponse {
  const named = requestedHeaders(request)
    .filter((name) => /^mcp-[a-z0-9_-]{1,110}$/.test(name))
    .slice(0, maxMcpHeaders)
  const allowed = new Set([...allowedRequestHeaders, ...readsHeaders, ...named])
  return {
    status: 204,
    body: null,
    headers: {
      'access-control-allow-methods': [...methods, 'OPTIONS'].join(', '),
      'access-control-allow-headers': [...allowed].join(', '),
      'access-control-max-age': '86400',
      vary: 'Access-Control-Request-Headers',
    },
  }
}
