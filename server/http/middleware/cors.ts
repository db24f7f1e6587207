import type { MiddlewareHandler } from 'hono'
import type { CorsAudience, Endpoint, HttpEnv } from '../endpoint.ts'

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

const maxHeaderListLength = 4096
const maxParameterHeaders = 50

/** Returns the audience of public responses: discovery, registration and tokens, none of which reads cookies. */
export const everyone = (): CorsAudience => ({ kind: 'everyone' })

/** Returns the pages that may read the response of `endpoint` to `request`. */
export function audienceOf({ cors }: Endpoint, request: Request): CorsAudience {
  return cors === 'none' ? { kind: 'nobody' } : cors(request)
}

/**
 * Adds the CORS headers to every response, errors included: a page must be able to read a challenge, and browser clients that
 * probe for documents must be able to read that a path is unknown. `cors` of Hono cannot do this: credentials depend on the
 * request here, and only some of the requested headers are allowed.
 */
export const cors: MiddlewareHandler<HttpEnv> = async (c, next) => {
  c.set('audience', everyone())
  await next()
  addCorsHeaders(c.res.headers, c.get('audience'))
}

function addCorsHeaders(headers: Headers, audience: CorsAudience): void {
  if (audience.kind === 'nobody') return
  if (audience.kind === 'everyone') {
    headers.set('access-control-allow-origin', '*')
  } else {
    headers.set('access-control-allow-origin', audience.origin)
    headers.set('access-control-allow-credentials', 'true')
    headers.append('vary', 'Origin')
  }
  headers.set('access-control-expose-headers', exposedResponseHeaders)
}

/** Returns the headers that a preflight requests, in lower case; none when the list is absurdly long. */
export function requestedHeaders(request: Request): string[] {
  const list = request.headers.get('access-control-request-headers') ?? ''
  // Split at the comma alone: a pattern with blanks around it takes quadratic time on a hostile list.
  return list.length > maxHeaderListLength ? [] : list.split(',').map((name) => name.trim().toLowerCase())
}

/** Responds to a preflight: the methods of the endpoint, the headers MCP clients send, and any requested `Mcp-Param-*`. */
export function preflight(request: Request, methods: readonly string[]): Response {
  const parameters = requestedHeaders(request)
    .filter((name) => /^mcp-param-[a-z0-9_-]{1,100}$/.test(name))
    .slice(0, maxParameterHeaders)
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
