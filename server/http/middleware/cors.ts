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
const exposedResponseHeaders = 'WWW-Authenticate, Retry-After, MCP-Protocol-Version, Mcp-Session-Id'

const longestHeaderList = 4096
const mostParameterHeaders = 50

/** Who may read an answer: every page, without credentials; one named origin, with them; or no page at all. */
export type CorsAudience = { kind: 'everyone' } | { kind: 'origin'; origin: string } | { kind: 'nobody' }

/** The audience of what is public: discovery, registration and tokens, none of which looks at cookies. */
export const everyone = (): CorsAudience => ({ kind: 'everyone' })

/** Adds the CORS headers for `audience` to `response`, errors included: a page must be able to read a challenge. */
export function withCors(response: Response, audience: CorsAudience): Response {
  const { headers } = response
  if (audience.kind === 'nobody') return response
  if (audience.kind === 'everyone') {
    headers.set('access-control-allow-origin', '*')
  } else {
    headers.set('access-control-allow-origin', audience.origin)
    headers.set('access-control-allow-credentials', 'true')
    headers.append('vary', 'Origin')
  }
  headers.set('access-control-expose-headers', exposedResponseHeaders)
  return response
}

/** The headers that a preflight asks for, in lower case; none when the list is absurdly long. */
export function requestedHeaders(request: Request): string[] {
  const list = request.headers.get('access-control-request-headers') ?? ''
  // Split at the comma alone: a pattern with blanks around it would take quadratic time on a hostile list.
  return list.length > longestHeaderList ? [] : list.split(',').map((name) => name.trim().toLowerCase())
}

/**
 * Answer to a preflight: the methods of the endpoint, the headers MCP clients send, and any `Mcp-Param-*` asked for. Who
 * may read it is for {@link withCors} to add.
 */
export function preflight(request: Request, methods: readonly string[]): Response {
  const parameters = requestedHeaders(request)
    .filter((name) => /^mcp-param-[a-z0-9_-]{1,100}$/.test(name))
    .slice(0, mostParameterHeaders)
  return new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': [...methods, 'OPTIONS'].join(', '),
      'access-control-allow-headers': [...allowedRequestHeaders, ...parameters].join(', '),
      'access-control-max-age': '86400',
      vary: 'Access-Control-Request-Headers',
    },
  })
}
