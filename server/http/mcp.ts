import { jsonRpcCode, jsonRpcError, parseJsonRpcMessage } from '@drawbridge/shared/json-rpc.ts'
import { parseCookieHeader, type WireCookie } from '@drawbridge/shared/cookie-header.ts'
import { isSessionCookieName } from '@drawbridge/shared/session-cookie-name.ts'
import { bearerChallenge } from '@drawbridge/shared/www-authenticate.ts'
import {
  type Caller,
  callerFromAuthorization,
  callerFromCookies,
  type CallerPorts,
  type CallerResult,
} from '../core/caller.ts'
import { resourceScopes, toolScope } from '../core/scope.ts'
import { json, jsonError } from './answer.ts'
import { mediaType, readBody } from './body.ts'
import { type CorsAudience, preflight, withCors } from './cors.ts'
import type { Endpoint, RequestContext } from './endpoint.ts'
import { judgeOrigin, type OriginVerdict, refuseCookieUse } from './guards.ts'
import type { PublicUrls } from './metadata.ts'

const maxBodyBytes = 4 * 1024 * 1024
const allow = { allow: 'POST' }

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
export function createMcpEndpoint(ports: McpPorts): Endpoint {
  const path = `${ports.urls.basePath}/mcp`
  const handler = async (request: Request, context: RequestContext): Promise<Response> => {
    const origin = request.headers.get('origin')
    const verdict = judgeOrigin(origin, ports.allowedOrigins)
    const audience: CorsAudience =
      verdict === 'trusted' && origin !== null ? { kind: 'origin', origin } : { kind: 'everyone' }
    if (verdict === 'foreign') {
      context.report('origin_refused')
      return jsonError(403, 'forbidden_origin', 'Pages of this origin may not call this server.')
    }
    return withCors(await answer(request, verdict, context, ports), audience)
  }
  const options = (request: Request): Response => {
    const origin = request.headers.get('origin')
    const verdict = judgeOrigin(origin, ports.allowedOrigins)
    if (verdict === 'foreign') {
      return jsonError(403, 'forbidden_origin', 'Pages of this origin may not call this server.')
    }
    // A preflight for a cookie call names no Authorization header; only such a call needs credentials allowed.
    const trusted = verdict === 'trusted' && origin !== null
    return preflight(request, ['POST'], trusted ? { kind: 'origin', origin } : { kind: 'everyone' })
  }
  return {
    path,
    cors: 'own',
    methods: { OPTIONS: options },
    otherMethods: handler,
  }
}

async function answer(
  request: Request,
  verdict: OriginVerdict,
  context: RequestContext,
  ports: McpPorts,
): Promise<Response> {
  const authorization = request.headers.get('authorization')
  const cookies = authorization === null ? sessionCookies(request, ports.callers.cookieName) : []
  if (cookies.length > 0 && ports.callers.sessionTokens) {
    const refused = refuseCookieUse(request, verdict)
    if (refused !== undefined) {
      context.report('cookie_refused')
      return jsonError(403, 'forbidden_cookie', refused)
    }
  }
  const found =
    authorization === null
      ? await callerFromCookies(cookies, ports.callers)
      : await callerFromAuthorization(authorization, ports.callers)
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
      return jsonError(401, 'unauthorized', 'Authentication is required: sign in through OAuth.', {
        'www-authenticate': bearerChallenge(challenge),
      })
    case 'invalid':
      context.report('caller_refused', { description: found.description })
      return jsonError(401, 'invalid_token', found.description, {
        'www-authenticate': bearerChallenge({
          ...challenge,
          error: 'invalid_token',
          errorDescription: found.description,
        }),
      })
    case 'unavailable':
      // No challenge: signing in again would not help while the provider is away.
      return jsonError(
        503,
        'temporarily_unavailable',
        'The sign-in service cannot be reached. Try again soon.',
        {
          'retry-after': String(found.retryAfterSeconds),
        },
      )
  }
}

async function serve(
  request: Request,
  caller: Caller,
  context: RequestContext,
  ports: McpPorts,
): Promise<Response> {
  if (!caller.scope.split(' ').includes(toolScope)) {
    const challenge = {
      resourceMetadata: ports.urls.resourceMetadata,
      scope: toolScope,
      error: 'insufficient_scope',
    }
    return jsonError(403, 'insufficient_scope', `The access token lacks the scope ${toolScope}.`, {
      'www-authenticate': bearerChallenge(challenge),
    })
  }
  if (request.method !== 'POST') {
    return jsonError(
      405,
      'method_not_allowed',
      'Send JSON-RPC messages with POST. There is no event stream.',
      allow,
    )
  }
  if (mediaType(request) !== 'application/json') {
    return jsonError(415, 'unsupported_media_type', 'Send the message as application/json.')
  }
  const body = await readBody(request, maxBodyBytes)
  if (body.kind === 'too_large') {
    return jsonError(413, 'content_too_large', `The message is larger than ${maxBodyBytes} bytes.`)
  }
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
