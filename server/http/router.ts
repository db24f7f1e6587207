import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth-error.ts'
import { json, jsonError } from './answer.ts'
import { preflight, withCors } from './cors.ts'
import type { Endpoint, EndpointHandler, RequestContext } from './endpoint.ts'
import { isOwnHost } from './guards.ts'

/** What the router needs beside the endpoints. */
export interface RouterConfig {
  baseUrl: string
  createContext: () => RequestContext
}

/** Answers every request with something; never rejects. */
export type FetchHandler = (request: Request) => Promise<Response>

/**
 * Finds the endpoint for a request and maps what it throws: an OAuth failure to its JSON, anything else to 500 without
 * a word about the cause. A path is looked up as it is, so the table is all there is.
 */
export function createRouter(endpoints: readonly Endpoint[], config: RouterConfig): FetchHandler {
  const table = new Map(endpoints.map((endpoint) => [endpoint.path, endpoint]))
  const strictTransport = config.baseUrl.startsWith('https:')
  return async (request) => {
    const context = config.createContext()
    const response = await dispatch(request, context, table, config.baseUrl)
    response.headers.set('x-content-type-options', 'nosniff')
    response.headers.set('x-request-id', context.id)
    if (strictTransport) response.headers.set('strict-transport-security', 'max-age=31536000')
    // A HEAD answer is the GET answer without its body.
    return request.method === 'HEAD' ? new Response(null, response) : response
  }
}

async function dispatch(
  request: Request,
  context: RequestContext,
  table: ReadonlyMap<string, Endpoint>,
  baseUrl: string,
): Promise<Response> {
  const { pathname } = new URL(request.url)
  const endpoint = table.get(pathname) ?? table.get(pathname.replace(/\/$/, ''))
  if (!endpoint?.anyHost && !isOwnHost(request.headers.get('host') ?? new URL(request.url).host, baseUrl)) {
    return jsonError(421, 'misdirected_request', 'This server does not answer for that host name.')
  }
  if (!endpoint)
    return withCors(jsonError(404, 'not_found', 'There is nothing at this path.'), { kind: 'everyone' })
  const response = await call(endpoint, request, context)
  return endpoint.cors === 'public' ? withCors(response, { kind: 'everyone' }) : response
}

async function call(endpoint: Endpoint, request: Request, context: RequestContext): Promise<Response> {
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const handler: EndpointHandler | undefined = Object.hasOwn(endpoint.methods, method)
    ? endpoint.methods[method]
    : endpoint.otherMethods
  const methods = Object.keys(endpoint.methods)
  if (!handler) {
    if (method === 'OPTIONS' && endpoint.cors === 'public')
      return preflight(request, methods, { kind: 'everyone' })
    return jsonError(405, 'method_not_allowed', `Use ${methods.join(' or ')} here.`, {
      allow: methods.join(', '),
    })
  }
  try {
    return await handler(request, context)
  } catch (error) {
    return answerError(error, request, context)
  }
}

function answerError(error: unknown, request: Request, context: RequestContext): Response {
  if (!(error instanceof OAuthError)) {
    context.report('request_failed', { error })
    const next = `Try again; if it stays, report request ${context.id}.`
    return jsonError(500, 'server_error', `Something went wrong here. ${next}`)
  }
  context.report('request_refused', { code: error.code, description: error.description })
  // RFC 6749 section 5.2: a client that used the Authorization header learns the scheme that is expected.
  const usedHeader = error.code === 'invalid_client' && request.headers.has('authorization')
  return json(
    oauthErrorBody(error),
    error.status,
    usedHeader ? { 'www-authenticate': 'Basic realm="token"' } : {},
  )
}
