import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth/oauth-error.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import { json, page } from './answer.ts'
import { type CorsAudience, everyone, preflight, withCors } from './cors.ts'
import type { Endpoint, EndpointHandler, RequestContext } from './endpoint.ts'
import { createHostGuard } from './guards.ts'
import { httpError, type HttpErrorCode, httpErrors } from './http-error.ts'
import { errorPage } from './pages/error-page.ts'
import { addSecurityHeaders } from './security-headers.ts'

/** What the router needs beside the endpoints. */
export interface RouterConfig {
  baseUrl: string
  /** Hosts that requests may be for beside the one of the base URL. */
  allowedHosts?: readonly string[]
  createContext: (request: Request, peer: Peer | undefined) => RequestContext
}

/** Who is at the other end of the connection; `address` is its IP address. */
export interface Peer {
  address: string | undefined
}

/** Answers every request with something; never rejects. Without `peer` nobody knows where the request comes from. */
export type FetchHandler = (request: Request, peer?: Peer) => Promise<Response>

/**
 * Finds the endpoint for a request and maps what it throws: an OAuth failure to its JSON, anything else to 500 without
 * a word about the cause. The path must be one of the table to the letter, one slash at its end aside.
 */
export function createRouter(endpoints: readonly Endpoint[], config: RouterConfig): FetchHandler {
  const find = createEndpointFinder(endpoints)
  const isOwnHost = createHostGuard(config.baseUrl, config.allowedHosts)
  const strictTransport = config.baseUrl.startsWith('https:')
  return async (request, peer) => {
    const context = config.createContext(request, peer)
    const url = new URL(request.url)
    const endpoint = find(url.pathname)
    // Pages of browser clients probe paths that are not there, and must be able to read that they are not.
    const audience = endpoint ? audienceOf(endpoint, request) : everyone()
    const answered =
      endpoint?.anyHost || isOwnHost(request, url)
        ? await dispatch(endpoint, request, context)
        : refuse('misdirected_request', request, context)
    const response = withCors(answered, audience)
    const { pathname } = url
    addSecurityHeaders(response.headers, { pathname, audience, strictTransport })
    response.headers.set('x-request-id', context.id)
    // A HEAD answer is the GET answer without its body.
    return request.method === 'HEAD' ? new Response(null, response) : response
  }
}

/** Finds the row for a path: to the letter, with one slash more at its end, or by the prefix of all but its last segment. */
export function createEndpointFinder(
  endpoints: readonly Endpoint[],
): (pathname: string) => Endpoint | undefined {
  const exact = new Map(endpoints.filter(({ prefix }) => !prefix).map((row) => [row.path, row]))
  const prefixed = new Map(endpoints.filter(({ prefix }) => prefix).map((row) => [row.path, row]))
  return (pathname) => {
    const found = exact.get(pathname)
    if (found) return found
    const split = pathname.lastIndexOf('/') + 1
    return split === pathname.length
      ? exact.get(pathname.slice(0, -1))
      : prefixed.get(pathname.slice(0, split))
  }
}

function audienceOf(endpoint: Endpoint, request: Request): CorsAudience {
  return endpoint.cors === 'none' ? { kind: 'nobody' } : endpoint.cors(request)
}

async function dispatch(
  endpoint: Endpoint | undefined,
  request: Request,
  context: RequestContext,
): Promise<Response> {
  if (!endpoint) return refuse('not_found', request, context)
  const methods = Object.keys(endpoint.methods)
  if (request.method === 'OPTIONS' && endpoint.cors !== 'none') {
    const audience = audienceOf(endpoint, request)
    return audience.kind === 'nobody' ? httpError('forbidden_origin') : preflight(request, methods)
  }
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const handler: EndpointHandler | undefined = Object.hasOwn(endpoint.methods, method)
    ? endpoint.methods[method]
    : endpoint.otherMethods
  if (!handler) return refuse('method_not_allowed', request, context, { allow: allowedMethods(endpoint) })
  try {
    return await handler(request, context)
  } catch (error) {
    return answerError(error, request, context)
  }
}

/** What `Allow` lists (RFC 9110 section 10.2.1): whoever takes GET takes HEAD. */
function allowedMethods({ methods, cors }: Endpoint): string {
  return [
    ...Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    ...(cors === 'none' ? [] : ['OPTIONS']),
  ].join(', ')
}

function answerError(error: unknown, request: Request, context: RequestContext): Response {
  if (error instanceof OAuthError) {
    context.report('request_refused', { code: error.code, description: error.description })
    // RFC 6749 section 5.2: a client that used the Authorization header learns the scheme that is expected.
    const usedHeader = error.code === 'invalid_client' && request.headers.has('authorization')
    return json(
      oauthErrorBody(error),
      error.status,
      usedHeader ? { 'www-authenticate': 'Basic realm="token"' } : {},
    )
  }
  if (error instanceof StoreUnavailableError) {
    context.report('store_unavailable', { error })
    return refuse('temporarily_unavailable', request, context, { 'retry-after': '5' })
  }
  // A client that hangs up in the middle of its body is no failure of ours.
  if (isAbort(error)) context.report('request_aborted')
  else context.report('request_failed', { error })
  return refuse('server_error', request, context)
}

function isAbort(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown }
  return name === 'AbortError' || code === 'ECONNRESET' || code === 'ABORT_ERR'
}

/** A refusal as a page for a browser that navigates, as JSON for everything else. */
function refuse(
  code: HttpErrorCode,
  request: Request,
  context: RequestContext,
  headers: Record<string, string> = {},
): Response {
  if (!request.headers.get('accept')?.includes('text/html')) return httpError(code, headers)
  const { status, ...text } = httpErrors[code]
  return page(errorPage({ ...text, requestId: context.id }), status, headers)
}
