import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type Context, type Handler, Hono, type MiddlewareHandler } from 'hono'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import type { Endpoint, EndpointHandler, FetchHandler, HttpEnv, Peer, RequestContext } from './endpoint.ts'
import { type HttpErrorCode, httpErrors } from './error-table.ts'
import { audienceOf, cors, preflight } from './middleware/cors.ts'
import { createHostGuard } from './middleware/guards.ts'
import { requestMetrics, type RequestObserver } from './middleware/request-metrics.ts'
import { securityHeaders } from './middleware/security-headers.ts'
import { errorPage } from './pages/error-page.ts'
import { httpError, json, page } from './response.ts'

/** Settings of the app besides the endpoints. */
export interface HttpAppConfig {
  baseUrl: string
  /** Hosts that requests may use besides that of the base URL. */
  allowedHosts?: readonly string[]
  createContext: (request: Request, peer: Peer | undefined) => RequestContext
  observer?: RequestObserver
}

/**
 * Serves `endpoints` with Hono. A path must match the table exactly, apart from one trailing slash: a path that another program may
 * read differently is not found.
 */
export function createHttpApp(endpoints: readonly Endpoint[], config: HttpAppConfig): FetchHandler {
  const isOwnHost = createHostGuard(config.baseUrl, config.allowedHosts)
  const app = new Hono<HttpEnv>({ getPath: (request) => new URL(request.url).pathname })
  if (config.observer) app.use(requestMetrics(config.observer))
  app.use(identify(config.createContext))
  app.use(securityHeaders(config.baseUrl))
  app.use(cors)
  const startUrl = `${config.baseUrl.replace(/\/+$/, '')}/`
  app.notFound((c) => refuse(isOwnHost(c.req.raw) ? 'not_found' : 'misdirected_request', c, {}, { startUrl }))
  app.onError(answerError)
  // Handlers run in the order they are added, and an exact path goes before a prefix.
  for (const endpoint of endpoints.toSorted(
    (a, b) => Number(a.prefix ?? false) - Number(b.prefix ?? false),
  )) {
    addEndpoint(app, endpoint, isOwnHost)
  }
  return async (request, peer) => app.fetch(request, { peer })
}

function addEndpoint(app: Hono<HttpEnv>, endpoint: Endpoint, isOwnHost: (request: Request) => boolean): void {
  const { path, prefix, methods, otherMethods, anyHost } = endpoint
  const paths = prefix ? [`${path}:segment`] : path.endsWith('/') ? [path] : [path, `${path}/`]
  const enter: MiddlewareHandler<HttpEnv> = async (c, next) => {
    c.set('endpoint', endpoint)
    c.set('audience', audienceOf(endpoint, c.req.raw))
    if (!anyHost && !isOwnHost(c.req.raw)) return refuse('misdirected_request', c)
    return next()
  }
  app.on('ALL', paths, enter)
  if (endpoint.cors !== 'none') app.on('OPTIONS', paths, answerPreflight(Object.keys(methods)))
  for (const [method, handler] of Object.entries(methods)) app.on(method, paths, serve(handler))
  app.on('ALL', paths, otherMethods ? serve(otherMethods) : refuseMethod(allowedMethods(endpoint)))
}

function serve(handler: EndpointHandler): Handler<HttpEnv> {
  return (c) => handler(c.req.raw, c.get('context'))
}

function answerPreflight(methods: readonly string[]): Handler<HttpEnv> {
  return (c) =>
    c.get('audience').kind === 'nobody' ? httpError('forbidden_origin') : preflight(c.req.raw, methods)
}

function refuseMethod(allow: string): Handler<HttpEnv> {
  return (c) => refuse('method_not_allowed', c, { allow })
}

/** Returns the methods for `Allow` (RFC 9110 section 10.2.1): an endpoint with GET also takes HEAD. */
function allowedMethods({ methods, cors }: Endpoint): string {
  return [
    ...Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    ...(cors === 'none' ? [] : ['OPTIONS']),
  ].join(', ')
}

function identify(createContext: HttpAppConfig['createContext']): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    const context = createContext(c.req.raw, c.env.peer)
    c.set('context', context)
    await next()
    c.res.headers.set('x-request-id', context.id)
  }
}

/** Responds to an OAuth error as JSON; to anything else without the cause, which goes to the log. */
function answerError(error: unknown, c: Context<HttpEnv>): Response {
  const context = c.get('context')
  if (error instanceof OAuthError) {
    context.report('request_refused', {
      code: error.code,
      description: error.description,
      ...error.logFields,
    })
    // RFC 6749 section 5.2: a client that used the Authorization header learns which scheme is expected.
    const usedHeader = error.code === 'invalid_client' && c.req.raw.headers.has('authorization')
    return json(
      oauthErrorBody(error),
      error.status,
      usedHeader ? { 'www-authenticate': 'Basic realm="token"' } : {},
    )
  }
  if (error instanceof StoreUnavailableError) {
    context.report('store_unavailable', { error })
    return refuse('temporarily_unavailable', c, { 'retry-after': '5' })
  }
  // A client that disconnects while sending its body is not our failure.
  if (isAbort(error)) context.report('request_aborted')
  else context.report('request_failed', { error })
  return refuse('server_error', c)
}

function isAbort(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown }
  return name === 'AbortError' || code === 'ECONNRESET' || code === 'ABORT_ERR'
}

/** Refuses with a page for a browser that navigates, with JSON for everything else. */
function refuse(
  code: HttpErrorCode,
  c: Context<HttpEnv>,
  headers: Record<string, string> = {},
  links: { startUrl?: string } = {},
): Response {
  if (!c.req.raw.headers.get('accept')?.includes('text/html')) return httpError(code, headers)
  const { status, ...text } = httpErrors[code]
  return page(errorPage({ ...text, ...links, requestId: c.get('context').id }), status, headers)
}
