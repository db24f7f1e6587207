import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { traceIdOf } from '@drawbridge/shared/trace-context.ts'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { type KeyFile, OperatorRefusal, parseInput } from '../core/operator/operation.ts'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import type { FetchHandler, RemoteSocket } from '../http/endpoint.ts'
import type { ClientAddress } from '../http/listener/client-address.ts'
import { toResponse } from '@drawbridge/shared/text-response.ts'
import { httpError, json } from '../http/response.ts'
import { type Log, type Report, reportTo } from '../observability/log.ts'
import { type AdminPorts, type AdminRoute, adminRoutes, pathParameters } from './admin-route.ts'
import type { AdminToken } from './admin-token.ts'
import { openApiDocument } from './open-api.ts'

export interface AdminApiPorts extends Omit<AdminPorts, 'report' | 'note' | 'document'> {
  token: AdminToken
  log: Log
  addressOf: ClientAddress
  /** Of this server, for the description of the API. */
  version: string
}

interface AdminEnv {
  Bindings: { peer: RemoteSocket | undefined }
  Variables: { report: Report }
}

/**
 * Serves the routes of the table to requests with the token, and refuses all others alike. Needs its own listener. Does not
 * read request bodies.
 */
export function createAdminApi({ token, log, addressOf, version, ...ports }: AdminApiPorts): FetchHandler {
  const document = describeAdminApi(version)
  const { keyFile = noKeyFile } = ports
  // Unmodified: an encoded id is decoded once, as a part of the path.
  const app = new Hono<AdminEnv>({ getPath: (request) => new URL(request.url).pathname })
  app.use(async (c, next) => {
    const id = encodeBase64url(ports.runtime.randomBytes(12))
    const address = addressOf(c.req.raw, c.env.peer)
    const traceId = traceIdOf(c.req.header('traceparent') ?? null)
    c.set('report', reportTo(log, { request_id: id, trace_id: traceId, address }))
    await next()
    c.res.headers.set('x-request-id', id)
  })
  app.use(requireToken(token))
  for (const route of adminRoutes) {
    app.on(route.method, patternOf(route.path), async (c) => {
      const context = { ...ports, keyFile, report: c.get('report'), note: () => {}, document }
      const input = parseInput(route.input, givenIn(c, route))
      return toResponse(json(await route.handle(input, context)))
    })
  }
  for (const path of new Set(adminRoutes.map((route) => route.path))) {
    app.all(patternOf(path), () => toResponse(httpError('method_not_allowed', { allow: allowedOn(path) })))
  }
  app.notFound(() => refuse(404, 'not_found', 'Path not found. GET /openapi.json lists the available ones.'))
  app.onError((error, c) => answerError(error, c.get('report')))
  return async (request, peer) => app.fetch(request, { peer })
}

function describeAdminApi(version: string): AdminPorts['document'] {
  const routes = adminRoutes.map((route) => {
    const badInput =
      Object.keys(route.input.shape).length === 0
        ? 'Parameters were sent, but the operation takes none.'
        : 'A parameter is invalid or unknown; the description names it and the expected value.'
    return { ...route, refusals: { 400: badInput, ...route.refusals } }
  })
  return openApiDocument(routes, {
    title: 'Drawbridge admin API',
    version,
    description: 'Grants, clients, keys and audit events of a Drawbridge server.',
    url: '/',
    token: 'The token in the file of ADMIN_TOKEN_FILE.',
  })
}

function requireToken(token: AdminToken): MiddlewareHandler<AdminEnv> {
  return async (c, next) => {
    const reason = token.refuse(c.req.header('authorization'))
    if (reason === undefined) return next()
    const report = c.get('report')
    report('admin_refused', { reason, method: c.req.method })
    const description = 'Send the token of ADMIN_TOKEN_FILE, as Authorization: Bearer TOKEN.'
    return refuse(401, 'unauthorized', description, { 'www-authenticate': 'Bearer' })
  }
}

/** Rotating promises a new key, so without a file it is refused. */
const noKeyFile: KeyFile = {
  path: '',
  changedAt: () => 0,
  change() {
    throw new OperatorRefusal(
      409,
      'The keys are not in a file, so none can be added. Keep them in one: DRAWBRIDGE_SECRET_KEYS=file:PATH.',
    )
  },
}

function patternOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** As in RFC 9110 section 10.2.1: paths that support GET support HEAD too. */
function allowedOn(path: string): string {
  return adminRoutes
    .filter((route) => route.path === path)
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ')
}

/** Returns the parameters of path and query as strings. Throws {@link OperatorRefusal} for a duplicate. */
function givenIn(c: Context<AdminEnv>, { path }: AdminRoute): Record<string, string> {
  const given = new Map(pathParameters(path).map((name) => [name, c.req.param(name) ?? '']))
  for (const [name, value] of new URL(c.req.url).searchParams) {
    if (given.has(name)) throw new OperatorRefusal(400, `${name}: expected only once.`)
    given.set(name, value)
  }
  return Object.fromEntries(given)
}

const refusalCodes = { 400: 'invalid_request', 404: 'not_found', 409: 'conflict' } as const

function answerError(error: unknown, report: Report): Response {
  if (error instanceof OperatorRefusal) return refuse(error.status, refusalCodes[error.status], error.message)
  if (error instanceof StoreUnavailableError) {
    report('store_unavailable', { error })
    return toResponse(httpError('temporarily_unavailable'))
  }
  report('request_failed', { error })
  return toResponse(httpError('server_error'))
}

function refuse(
  status: number,
  code: string,
  description: string,
  headers: Record<string, string> = {},
): Response {
  return toResponse(json({ error: code, error_description: description }, status, headers))
}
