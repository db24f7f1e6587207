import { readMediaRanges } from '@drawbridge/shared/media-range.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { type Context, Hono } from 'hono'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import type {
  CorsAudience,
  Endpoint,
  EndpointHandler,
  FetchHandler,
  RemoteSocket,
  RequestContext,
} from './endpoint.ts'
import { errorTable, type PageErrorCode } from './error-table.ts'
import { createFinisher } from './finish.ts'
import { everyone, preflight } from './middleware/cors.ts'
import { createHostGuard, splitUrl } from './middleware/guards.ts'
import { errorPage } from './pages/error-page.ts'
import type { Look } from './pages/look.ts'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { Languages } from '../texts/languages.ts'
import { httpError, oauthFailure, page, pageLanguage, retryHeaders } from './response.ts'

interface RequestObserver {
  requestStarted(): void
  /**
   * `endpoint` is a path of the table, with `*` for what follows a prefix, or `other`: clients cannot add names. The time ends when
   * the response begins, so the time of a stream is not included.
   */
  requestEnded(endpoint: string, status: number, seconds: number): void
}

export interface HttpAppConfig {
  baseUrl: string
  look: Look
  /** Languages of the pages that say why a request was refused. */
  languages?: Languages
  createContext: (request: Request, peer: RemoteSocket | undefined) => RequestContext
  observer?: RequestObserver
  /** Monotonic milliseconds, for the observer. */
  nowMs?: () => number
}

type Env = { Bindings: { peer: RemoteSocket | undefined } }

/** A row of the endpoint table as it is served: who may read its responses, and the checks and the handler behind it. */
interface Route {
  name: string
  audienceOf: (request: Request) => CorsAudience
  handle: EndpointHandler
}

/**
 * Serves `endpoints` with Hono: one handler for each path, which does everything about a request in turn. A path must match the table
 * exactly, apart from one trailing slash: a path that another program may read differently is not found.
 */
export function createHttpApp(endpoints: readonly Endpoint[], config: HttpAppConfig): FetchHandler {
  const { baseUrl, createContext, observer, nowMs = () => performance.now(), languages } = config
  const isOwnHost = createHostGuard(baseUrl)
  const refuse = createRefusal(config.look, languages ?? new Languages())
  const finish = createFinisher(baseUrl)

  async function serve(
    { req: { raw: request, path }, env: { peer } }: Context<Env>,
    route: Route,
  ): Promise<Response> {
    const startedAt = nowMs()
    observer?.requestStarted()
    let status = 500
    try {
      const context = createContext(request, peer)
      const audience = route.audienceOf(request)
      const reply = await answer(request, context, route, refuse)
      status = reply.status
      context.answered?.(route.name, status)
      return finish(reply, { requestId: context.id, path, audience })
    } finally {
      observer?.requestEnded(route.name, status, (nowMs() - startedAt) / 1000)
    }
  }

  const app = new Hono<Env>({ getPath: (request) => splitUrl(request.url).path })
  // Handlers run in the order they are added, and an exact path goes before a prefix.
  for (const endpoint of endpoints.toSorted(
    (a, b) => Number(a.prefix ?? false) - Number(b.prefix ?? false),
  )) {
    const route = routeOf(endpoint, isOwnHost, refuse)
    for (const path of pathsOf(endpoint)) app.all(path, (c) => serve(c, route))
  }
  const nowhere = unknownRoute(baseUrl, isOwnHost, refuse)
  app.notFound((c) => serve(c, nowhere))
  return async (request, peer) => app.fetch(request, { peer })
}

function pathsOf({ path, prefix }: Endpoint): string[] {
  if (prefix) return [`${path}:segment`]
  return path.endsWith('/') ? [path] : [path, `${path}/`]
}

function routeOf(endpoint: Endpoint, isOwnHost: (request: Request) => boolean, refuse: Refusal): Route {
  const { path, prefix, cors, anyHost, otherMethods } = endpoint
  const handlers = new Map(Object.entries(endpoint.methods))
  const audienceOf = cors === 'none' ? (): CorsAudience => ({ kind: 'none' }) : cors
  const allow = allowedMethods(endpoint)
  return {
    name: prefix ? `${path}*` : path,
    audienceOf,
    handle(request, context) {
      if (!anyHost && !isOwnHost(request)) return refuse('misdirected_request', request, context)
      if (request.method === 'OPTIONS' && cors !== 'none') {
        return audienceOf(request).kind === 'none'
          ? httpError('forbidden_origin')
          : preflight(request, [...handlers.keys()], endpoint.readsHeaders)
      }
      const handler = handlers.get(request.method === 'HEAD' ? 'GET' : request.method) ?? otherMethods
      return handler
        ? handler(request, context)
        : refuse('method_not_allowed', request, context, { headers: { allow } })
    },
  }
}

function unknownRoute(baseUrl: string, isOwnHost: (request: Request) => boolean, refuse: Refusal): Route {
  const startUrl = `${baseUrl.replace(/\/+$/, '')}/`
  return {
    name: 'other',
    audienceOf: everyone,
    handle: (request, context) =>
      refuse(isOwnHost(request) ? 'not_found' : 'misdirected_request', request, context, { startUrl }),
  }
}

/** Returns the methods for `Allow` (RFC 9110 section 10.2.1): an endpoint with GET also takes HEAD. */
function allowedMethods({ methods, cors }: Endpoint): string {
  return [
    ...Object.keys(methods).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    ...(cors === 'none' ? [] : ['OPTIONS']),
  ].join(', ')
}

/** Calls the handler. An OAuth error becomes JSON; anything else is answered without the cause, which goes to the log. */
async function answer(
  request: Request,
  context: RequestContext,
  { handle }: Route,
  refuse: Refusal,
): Promise<Reply> {
  try {
    return await handle(request, context)
  } catch (error) {
    if (error instanceof OAuthError) {
      const { code, description, cause } = error
      context.report('request_refused', {
        code,
        description,
        ...(code === 'temporarily_unavailable' && { error: cause }),
        ...error.logFields,
      })
      // RFC 6749 section 5.2: a client that used the Authorization header learns which scheme is expected.
      const usedHeader = code === 'invalid_client' && request.headers.has('authorization')
      return oauthFailure(error, usedHeader ? { 'www-authenticate': 'Basic realm="token"' } : {})
    }
    if (error instanceof StoreUnavailableError) {
      context.report('store_unavailable', { error })
      return refuse('temporarily_unavailable', request, context)
    }
    // A client that disconnects while sending its body is not our failure.
    if (isAbort(error)) context.report('request_aborted')
    else context.report('request_failed', { error })
    return refuse('server_error', request, context)
  }
}

function isAbort(error: unknown): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown }
  return name === 'AbortError' || code === 'ECONNRESET' || code === 'ABORT_ERR'
}

/** Refuses with a page for a browser that navigates, with JSON for everything else. */
type Refusal = (
  code: PageErrorCode,
  request: Request,
  context: RequestContext,
  more?: { headers?: Record<string, string>; startUrl?: string },
) => Reply

function createRefusal(look: Look, languages: Languages): Refusal {
  return (code, request, { id: requestId }, { headers = {}, ...start } = {}) => {
    const namesHtml = (readMediaRanges(request.headers.get('accept')).get('text/html') ?? 0) > 0
    if (!namesHtml) return httpError(code, headers)
    const { status } = errorTable[code]
    const language = pageLanguage(request, languages)
    const view = { language, look }
    const html = errorPage({ ...view, ...language.texts.errors[code], ...start, requestId })
    return page(html, view, status, { ...retryHeaders(status), ...headers })
  }
}
