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

/** Who may read an answer: every page, without credentials; or one named origin, with them. */
export type CorsAudience = { kind: 'everyone' } | { kind: 'origin'; origin: string }

/** Adds the CORS headers for `audience` to `response`, errors included: a page must be able to read a challenge. */
export function withCors(response: Response, audience: CorsAudience): Response {
  const { headers } = response
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

/** Answer to a preflight: the methods of the endpoint, the headers MCP clients send, and any `Mcp-Param-*` asked for. */
export function preflight(request: Request, methods: readonly string[], audience: CorsAudience): Response {
  const asked = (request.headers.get('access-control-request-headers') ?? '').toLowerCase().split(/ *, */)
  const parameters = asked.filter((name) => /^mcp-param-[a-z0-9_-]{1,100}$/.test(name)).slice(0, 50)
  const response = new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': [...methods, 'OPTIONS'].join(', '),
      'access-control-allow-headers': [...allowedRequestHeaders, ...parameters].join(', '),
      'access-control-max-age': '86400',
      vary: 'Access-Control-Request-Headers',
    },
  })
  return withCors(response, audience)
}
