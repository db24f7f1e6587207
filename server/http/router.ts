import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth-error.ts'
import { StoreUnavailableError } from '../core/store.ts'
import { json, page } from './answer.ts'
import { type CorsAudience, everyone, preflight, withCors } from './cors.ts'
import type { Endpoint, EndpointHandler, RequestContext } from './endpoint.ts'
import { createHostGuard } from './guards.ts'
import { httpError, type HttpErrorCode, httpErrors } from './http-error.ts'
import { errorPage } from './pages/error-page.ts'

/** What the router needs beside the endpoints. */
export interface RouterConfig {
  baseUrl: string
  createContext: () => RequestContext
}

/** Answers every request with something; never rejects. */
export type FetchHandler = (request: Request) => Promise<Response>

/**
 * Finds the endpoint for a request and maps what it throws: an OAuth failure to its JSON, anything else to 500 without
 * a word about the cause. The path must be one of the table to the letter, one slash at its end aside.
 */
export function createRouter(endpoints: readonly Endpoint[], config: RouterConfig): FetchHandler {
  const table = new Map(endpoints.map((endpoint) => [endpoint.path, endpoint]))
  const isOwnHost = createHostGuard(config.baseUrl)
  const strictTransport = config.baseUrl.startsWith('https:')
  return async (request) => {
    const context = config.createContext()
    const { pathname } = new URL(request.url)
    const endpoint = table.get(pathname) ?? table.get(pathname.replace(/\/$/, ''))
    // Pages of browser clients probe paths that are not there, and must be able to read that they are not.
    const audience = endpoint ? audienceOf(endpoint, request) : everyone()
    const answered =
      endpoint?.anyHost || isOwnHost(request)
        ? await dispatch(endpoint, request, context)
        : refuse('misdirected_request', request, context)
    const response = withCors(answered, audience)
    response.headers.set('x-content-type-options', 'nosniff')
    response.headers.set('x-request-id', context.id)
    if (strictTransport) response.headers.set('strict-transport-security', 'max-age=31536000')
    // A HEAD answer is the GET answer without its body.
    return request.method === 'HEAD' ? new Response(null, response) : response
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
  if (!handler) return refuse('method_not_allowed', request, context, { allow: methods.join(', ') })
  try {
    return await handler(request, context)
  } catch (error) {
    return answerError(error, request, context)
  }
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
