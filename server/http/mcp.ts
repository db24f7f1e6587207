import { parseCookieHeader, type WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpHeader, mcpMetaKey, transportErrorCode } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth/oauth-error.ts'
import { isSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import { type BearerChallenge, bearerChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'
import {
  anonymousCaller,
  type Caller,
  type CallerPorts,
  type CallerReader,
  type CallerResult,
  createCallerReader,
  SignInNeededError,
} from '../core/tokens/caller.ts'
import { addressBlocks } from '../core/address-block.ts'
import type { CallAdmission, CallLimit } from '../core/access/call-limit.ts'
import { type Call, type CallOutcome, callsOf, IncomingCalls } from '../core/tokens/call-record.ts'
import type { GrantUses } from '../core/session/grant-use.ts'
import { toolScope } from '../core/tokens/scope.ts'
import { json } from './response.ts'
import { isOpen, readMessage } from './mcp-message.ts'
import { requestedHeaders } from './middleware/cors.ts'
import type { CorsAudience, Endpoint, RequestContext } from './endpoint.ts'
import { judgeOrigin, mayUseCookie } from './middleware/guards.ts'
import { httpError } from './http-error.ts'
import type { PublicUrls } from './public-urls.ts'

const maxBodyBytes = 4 * 1024 * 1024
/** Of requests without a credential: nobody is there to answer for more. */
const maxOpenBodyBytes = 256 * 1024

/** What the gate of `/mcp` needs. */
export interface McpPorts {
  urls: PublicUrls
  allowedOrigins: readonly string[]
  callers: CallerPorts
  /** Methods that `serve` takes; POST always. */
  methods: readonly string[]
  /** `body` is undefined for methods other than POST; `text` is its JSON as it came. */
  serve: (
    request: Request,
    body: unknown,
    caller: Caller,
    calls: IncomingCalls,
    text?: string,
  ) => Promise<Response>
  /** Scopes that calls need in addition to the one for all tools. */
  scopesOfCalls: (calls: readonly Call[]) => readonly string[]
  /** Whether there is something of that name to call. */
  has: (call: Call) => boolean
  /** Names of the tools that can be called without a credential. When there are none, nothing can be done without one. */
  publicTools: ReadonlySet<string>
  callLimit: CallLimit
  grantUse: Pick<GrantUses, 'note'>
}

/**
 * `/mcp`: checks the origin first, then the caller, and only then the request itself. So every request without a good
 * credential gets 401 with a challenge, whatever its method or body. Where there are public tools, one without any credential may
 * do what it takes to find and call them; a bad credential is refused all the same.
 */
export function createMcpGate(ports: McpPorts): Endpoint {
  const readers = createCallerReader(ports.callers)
  const handler = (request: Request, context: RequestContext): Promise<Response> =>
    answer(request, context, readers, ports)
  return {
    path: `${ports.urls.basePath}/mcp`,
    cors: (request) => audienceOf(request, ports.allowedOrigins),
    methods: Object.fromEntries(ports.methods.map((method) => [method, handler])),
    otherMethods: handler,
  }
}

/** Only cookie calls of trusted origins need credentials; a call with a bearer token does not. */
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
  if (found.kind === 'caller') return serve(request, found.caller, context, ports)
  if (found.kind === 'missing' && ports.publicTools.size > 0) return serveAnonymous(request, context, ports)
  return refuseCaller(found, context, ports.urls)
}

/** Serves what is open to anybody. Everything else is 401, so that a client signs in and sends it again. */
async function serveAnonymous(request: Request, context: RequestContext, ports: McpPorts): Promise<Response> {
  // A client that only looks for a stream of notifications must not be made to sign in.
  if (request.method !== 'POST') return httpError('method_not_allowed', { allow: 'POST' })
  const body = await readMessage(request, maxOpenBodyBytes)
  if (body.kind === 'refused') return challenge([], ports)
  const needed = ports.scopesOfCalls(callsOf(body.message))
  if (!isOpen(body.message, ports.publicTools)) return challenge(needed, ports)
  // Access rules are about people: who is nobody yet sees nothing that they might hide.
  const { hasRules } = ports.callers.access
  const allowsTool = hasRules ? (name: string): boolean => ports.publicTools.has(name) : undefined
  const caller = anonymousCaller({ kind: 'allowed', scopes: undefined, allowsTool })
  try {
    return await serveCalls(request, body, caller, context, ports)
  } catch (error) {
    if (!(error instanceof SignInNeededError)) throw error
    return challenge(needed, ports)
  }
}

/** 401 without an error, since no credential came (RFC 6750 section 3.1). */
function challenge(scopes: readonly string[], { urls }: Pick<McpPorts, 'urls'>): Response {
  const scope = [toolScope, ...scopes].join(' ')
  const header = bearerChallenge({ resourceMetadata: urls.resourceMetadata, scope })
  return httpError('unauthorized', { 'www-authenticate': header })
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
  switch (found.kind) {
    case 'missing':
      return challenge([], { urls })
    case 'invalid':
      context.report('caller_refused', { description: found.description })
      return refuseToken(new OAuthError('invalid_token', found.description), {
        resourceMetadata: urls.resourceMetadata,
        scope: toolScope,
      })
    case 'denied':
      context.report('access_denied', { sub: found.sub, rule: found.rule })
      // No challenge: signing in again would not help this person.
      return httpError('access_denied')
    case 'unavailable':
      // No challenge: signing in again would not help while the provider is down.
      return httpError('temporarily_unavailable', { 'retry-after': String(found.retryAfterSeconds) })
  }
}

/** A refusal of the token, with the same description in the challenge and in the body (RFC 6750 section 3.1). */
function refuseToken(error: OAuthError, about: BearerChallenge): Response {
  const header = bearerChallenge({ ...about, error: error.code, errorDescription: error.description })
  return json(oauthErrorBody(error), error.status, { 'www-authenticate': header })
}

async function serve(
  request: Request,
  caller: Caller,
  context: RequestContext,
  ports: McpPorts,
): Promise<Response> {
  if (caller.grantId !== undefined) ports.grantUse.note(caller.grantId, context.address)
  const refusedCaller = refuseScope(caller, [toolScope], ports)
  if (refusedCaller) return refusedCaller
  if (request.method === 'POST') return servePost(request, caller, context, ports)
  if (!ports.methods.includes(request.method))
    return httpError('method_not_allowed', { allow: ports.methods.join(', ') })
  context.report('mcp_request', { credential: caller.credential })
  const { report } = context
  const calls = new IncomingCalls({ caller, revision: undefined, requestBytes: 0, report, nowMs: () => 0 })
  return ports.serve(request, undefined, caller, calls)
}

/**
 * The refusal of a caller who lacks one of the scopes `needed`. It asks for every scope that the operation needs and for those
 * the token already has, so that a client that signs in for exactly these loses none (MCP 2026-07-28 authorization).
 */
function refuseScope(
  { scope }: Caller,
  needed: readonly string[],
  { urls, callers }: McpPorts,
): Response | undefined {
  if (needed.length === 0) return undefined
  const held = scope.split(' ')
  const missing = needed.filter((name) => !held.includes(name))
  if (missing.length === 0) return undefined
  const asked = callers.scopes.resource.filter((name) => held.includes(name) || needed.includes(name))
  const error = new OAuthError(
    'insufficient_scope',
    `The access token lacks the scope ${missing.join(' ')}. Sign in again and request it.`,
  )
  const all = [...new Set([toolScope, ...asked])].join(' ')
  return refuseToken(error, { resourceMetadata: urls.resourceMetadata, scope: all })
}

async function servePost(
  request: Request,
  caller: Caller,
  context: RequestContext,
  ports: McpPorts,
): Promise<Response> {
  const body = await readMessage(request, maxBodyBytes)
  return body.kind === 'refused' ? body.response : serveCalls(request, body, caller, context, ports)
}

/** Serves a message of a caller who may make its calls: the scopes are there, and the limit of that person or address is not reached. */
async function serveCalls(
  request: Request,
  { message, text }: { message: unknown; text: string },
  caller: Caller,
  context: RequestContext,
  ports: McpPorts,
): Promise<Response> {
  const made = callsOf(message)
  const meta = metaOf(
    isJsonObject(message) && isJsonObject(message['params']) ? message['params'] : undefined,
  )
  context.trace?.(meta['traceparent'])
  const incoming = {
    caller,
    revision: revisionOf(request, meta),
    requestBytes: Buffer.byteLength(text),
    report: context.report,
    nowMs: () => performance.now(),
  }
  const refuse = (outcome: CallOutcome): void => {
    const calls = new IncomingCalls(incoming)
    for (const call of made) calls.refuse(call, { outcome, isKnown: ports.has(call) })
  }
  // To somebody who cannot get a scope by any sign-in, its tools do not exist: the endpoint says so.
  const { scopes } = caller.access
  const needed = ports.scopesOfCalls(made).filter((scope) => scopes?.includes(scope) ?? true)
  const refusedScope = refuseScope(caller, needed, ports)
  if (refusedScope) {
    refuse('refused_scope')
    return refusedScope
  }
  const admission = admit(message, made, caller, context, ports)
  if (admission.kind === 'refused') {
    refuse('refused_limit')
    return tooManyCalls(message, admission.retryAfterSeconds)
  }
  noteTool(made, caller, context, ports)
  const calls = new IncomingCalls({ ...incoming, over: admission.leave })
  context.report('mcp_request', { credential: caller.credential })
  try {
    const response = await ports.serve(request, message, caller, calls, text)
    // Calls that a stream answers are over when it ends.
    if (response.headers.get('content-type') !== 'text/event-stream') calls.over()
    return response
  } catch (error) {
    calls.over()
    throw error
  }
}

/** Limits the calls of each person, and the messages without credential of each address. */
function admit(
  message: unknown,
  made: readonly Call[],
  { user }: Caller,
  { address }: RequestContext,
  { callLimit }: McpPorts,
): CallAdmission {
  if (user) return callLimit.enter(user.id, made.length)
  if (address === undefined) return { kind: 'admitted', leave() {} }
  // No id of a user begins like that.
  const count = Array.isArray(message) ? message.length : 1
  return callLimit.enter(`address ${addressBlocks(address)[0]?.name}`, count)
}

/** Notes which tool the grant was last used with, of those that the server has and that this person may call. */
function noteTool(
  calls: readonly Call[],
  { grantId, access }: Caller,
  { address }: RequestContext,
  { has, grantUse }: McpPorts,
): void {
  const tool = calls.findLast(
    (call) => call.event === 'tool_called' && has(call) && (access.allowsTool?.(call.name) ?? true),
  )
  if (grantId !== undefined && tool) grantUse.note(grantId, address, tool.name)
}

/** The revision that a message names: in its envelope since 2026-07-28, before that in a header. */
function revisionOf(request: Request, meta: JsonObject): string | undefined {
  const named = meta[mcpMetaKey.protocolVersion] ?? request.headers.get(mcpHeader.protocolVersion)
  return typeof named === 'string' && /^\d{4}-\d\d-\d\d$/.test(named) ? named : undefined
}

/** The refusal of a person's calls beyond their limit: one error for each request of the message. */
function tooManyCalls(message: unknown, retryAfterSeconds: number): Response {
  const text = `You are making too many calls. Wait ${retryAfterSeconds} s, then try again.`
  const errorOf = (each: unknown): unknown[] => {
    const id = isJsonObject(each) ? each['id'] : undefined
    return typeof id === 'string' || typeof id === 'number'
      ? [jsonRpcError(id, transportErrorCode.refused, text)]
      : []
  }
  const body = Array.isArray(message) ? message.flatMap(errorOf) : errorOf(message)[0]
  return json(body, 429, { 'retry-after': String(retryAfterSeconds) })
}
