import { parseCookieHeader, type WireCookie } from '@drawbridge/shared/cookie-header.ts'
import { jsonRpcCode, jsonRpcError, parseJsonRpcMessage } from '@drawbridge/shared/json-rpc.ts'
import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth-error.ts'
import { isSessionCookieName } from '@drawbridge/shared/session-cookie-name.ts'
import { type BearerChallenge, bearerChallenge } from '@drawbridge/shared/www-authenticate.ts'
import {
  type Caller,
  type CallerPorts,
  type CallerReader,
  type CallerResult,
  createCallerReader,
} from '../core/caller.ts'
import { resourceScopes, toolScope } from '../core/scope.ts'
import { json } from './answer.ts'
import { mediaType, readBody } from './body.ts'
import { type CorsAudience, requestedHeaders } from './cors.ts'
import type { Endpoint, RequestContext } from './endpoint.ts'
import { judgeOrigin, mayUseCookie } from './guards.ts'
import { httpError } from './http-error.ts'
import type { PublicUrls } from './metadata.ts'

const maxBodyBytes = 4 * 1024 * 1024

/** What the gate of `/mcp` needs. */
export interface McpPorts {
  urls: PublicUrls
  allowedOrigins: readonly string[]
  callers: CallerPorts
  serve: (request: Request, body: unknown, caller: Caller) => Promise<Response>
}

/**
 * `/mcp`: the origin first, then who is calling, and only then anything about the request itself. So every request
 * without a good credential gets 401 with a challenge, whatever its method or body.
 */
export function createMcpGate(ports: McpPorts): Endpoint {
  const readers = createCallerReader(ports.callers)
  const handler = (request: Request, context: RequestContext): Promise<Response> =>
    answer(request, context, readers, ports)
  return {
    path: `${ports.urls.basePath}/mcp`,
    cors: (request) => audienceOf(request, ports.allowedOrigins),
    methods: { POST: handler },
    otherMethods: handler,
  }
}

/** Credentials are for cookie calls of trusted origins alone: a call with a bearer does not need them. */
function audienceOf(request: Request, allowedOrigins: readonly string[]): CorsAudience {
  const origin = request.headers.get('origin')
  const verdict = judgeOrigin(origin, allowedOrigins)
  if (verdict === 'foreign') return { kind: 'nobody' }
  const bearer =
    request.headers.has('authorization') ||
    (request.method === 'OPTIONS' && requestedHeaders(request).includes('authorization'))
  return verdict === 'trusted' && origin !== null && !bearer
    ? { kind: 'origin', origin }
    : { kind: 'everyone' }
}

async function answer(
  request: Request,
  context: RequestContext,
  readers: CallerReader,
  ports: McpPorts,
): Promise<Response> {
  const verdict = judgeOrigin(request.headers.get('origin'), ports.allowedOrigins)
  if (verdict === 'foreign') {
    context.report('origin_refused')
    return httpError('forbidden_origin')
  }
  const authorization = request.headers.get('authorization')
  const cookies = authorization === null ? sessionCookies(request, ports.callers.cookieName) : []
  const usesCookie = cookies.length > 0 && ports.callers.sessionTokens
  if (usesCookie && !mayUseCookie(request, verdict)) {
    context.report('cookie_refused')
    return httpError('forbidden_cookie')
  }
  const found =
    authorization === null
      ? await readers.fromCookies(cookies)
      : await readers.fromAuthorization(authorization)
  if (found.kind !== 'caller') return refuseCaller(found, context, ports.urls)
  return serve(request, found.caller, context, ports)
}

function sessionCookies(request: Request, name: string): WireCookie[] {
  return parseCookieHeader(request.headers.get('cookie') ?? '').filter((cookie) =>
    isSessionCookieName(cookie.name, { name }),
  )
}

function refuseCaller(
  found: Exclude<CallerResult, { kind: 'caller' }>,
  context: RequestContext,
  urls: PublicUrls,
): Response {
  const challenge = { resourceMetadata: urls.resourceMetadata, scope: resourceScopes.join(' ') }
  switch (found.kind) {
    case 'missing':
      // RFC 6750 section 3.1: no error attribute when no credential came.
      return httpError('unauthorized', { 'www-authenticate': bearerChallenge(challenge) })
    case 'invalid':
      context.report('caller_refused', { description: found.description })
      return refuseToken(new OAuthError('invalid_token', found.description), challenge)
    case 'unavailable':
      // No challenge: signing in again would not help while the provider is away.
      return httpError('temporarily_unavailable', { 'retry-after': String(found.retryAfterSeconds) })
  }
}

/** A refusal about the token, with the same words in the challenge and in the body (RFC 6750 section 3.1). */
function refuseToken(error: OAuthError, challenge: BearerChallenge): Response {
  const header = bearerChallenge({ ...challenge, error: error.code, errorDescription: error.description })
  return json(oauthErrorBody(error), error.status, { 'www-authenticate': header })
}

async function serve(
  request: Request,
  caller: Caller,
  context: RequestContext,
  ports: McpPorts,
): Promise<Response> {
  if (!caller.scope.split(' ').includes(toolScope)) {
    const error = new OAuthError(
      'insufficient_scope',
      `The access token lacks the scope ${toolScope}. Ask for it.`,
    )
    return refuseToken(error, { resourceMetadata: ports.urls.resourceMetadata, scope: toolScope })
  }
  if (request.method !== 'POST') return httpError('method_not_allowed', { allow: 'POST' })
  if (mediaType(request) !== 'application/json') return httpError('unsupported_media_type')
  const body = await readBody(request, maxBodyBytes)
  if (body.kind === 'too_large') return httpError('content_too_large')
  const message = body.kind === 'text' ? parseJson(body.text) : undefined
  if (message === undefined)
    return json(jsonRpcError(null, jsonRpcCode.parseError, 'The body is not JSON.'), 400)
  const refused = refuseMessage(message)
  if (refused) return refused
  context.report('mcp_request', { credential: caller.credential })
  return ports.serve(request, message, caller)
}

/** The JSON-RPC error for a body that is no message. Arrays pass: revision 2025-03-26 has batches. */
function refuseMessage(message: unknown): Response | undefined {
  const parsed = Array.isArray(message) ? undefined : parseJsonRpcMessage(message)
  return parsed?.kind === 'invalid'
    ? json(
        jsonRpcError(parsed.id, jsonRpcCode.invalidRequest, `This is no JSON-RPC message: ${parsed.reason}.`),
        400,
      )
    : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
