import { CallerReader } from '../../core/tokens/caller-reader.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpHeader, mcpMetaKey, signInParameter } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { anonymousCaller, type Caller, SignInNeededError } from '../../core/tokens/caller.ts'
import { type CallLimit, personCalling, strangerCalling } from '../../core/limits/call-limit.ts'
import { type Call, type CallOutcome, callsOf, IncomingCalls } from '../../core/access/call-record.ts'
import type { GrantUses } from '../../core/session/grant-use.ts'
import { type AccessAllowed, fullAccess } from '../../core/access/access-rules.ts'
import { toolScope } from '../../core/tokens/scope.ts'
import { signInTool } from '../../core/tokens/sign-in-tool.ts'
import { isEventStream, type Reply } from '@drawbridge/shared/text-response.ts'
import { challenge, refuseCaller, refuseScope } from './mcp-refusal.ts'
import { httpError } from '../response.ts'
import { isOpen, readMessage, requestsUnderWay, signedInAnswer, tooManyCalls } from './mcp-message.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import { audienceOf, type CallerSource, findCaller } from '../middleware/caller.ts'
import type { PublicUrls } from '../public-urls.ts'

const maxBodyBytes = 4 * 1024 * 1024
/** For anonymous requests, for which no user is accountable. */
const maxOpenBodyBytes = 256 * 1024

/** A message whose calls have not begun. */
interface AskedCalls {
  body: unknown
  caller: Caller
  calls: IncomingCalls
}

export interface McpPorts extends CallerSource {
  urls: PublicUrls
  /** Methods that `serve` accepts; always includes POST. */
  methods: readonly string[]
  /** `body` is undefined for methods other than POST; `text` is its unmodified JSON. */
  serve: (
    request: Request,
    body: unknown,
    caller: Caller,
    calls: IncomingCalls,
    text?: string,
  ) => Promise<Reply>
  /** Returns the scopes that calls with such access require besides the one for all tools. */
  scopesOfCalls: (calls: readonly Call[], access: AccessAllowed) => readonly string[]
  /** Called before: learns what that depends on. Resolves with a reply if the message cannot be served. */
  learn: ((request: Request, asked: AskedCalls) => Promise<Reply | undefined>) | undefined
  /** Returns whether the called item exists; undefined while unknown. */
  has: (call: Call) => boolean | undefined
  /** Names of the tools that can be called without a credential. If empty, every request needs one. */
  publicTools: ReadonlySet<string>
  callLimit: CallLimit
  /** Client headers that are passed on to an upstream, in lower case. */
  forwardedHeaders: readonly string[]
  grantUses: Pick<GrantUses, 'recordUse' | 'recordTool'>
}

/**
 * `/mcp`: the checks of {@link answer}, in their order. If there are public tools, a request without any credential may find and
 * call them; an invalid credential is still refused. `/mcp?sign-in`, the same resource, always requires one: for clients that sign
 * in only when their first request is challenged.
 */
export function createMcpGate(ports: McpPorts): Endpoint {
  const readers = new CallerReader(ports.callers)
  const handler = (request: Request, context: RequestContext): Promise<Reply> =>
    answer(request, context, readers, ports)
  return {
    path: `${ports.urls.basePath}/mcp`,
    cors: (request) => audienceOf(request, ports.allowedOrigins),
    methods: Object.fromEntries(ports.methods.map((method) => [method, handler])),
    otherMethods: handler,
    readsHeaders: ports.forwardedHeaders,
  }
}

/**
 * Checks the origin first, then the caller, and only then the request itself. So every request without a valid credential gets 401
 * with a challenge, with any method and body.
 */
async function answer(
  request: Request,
  context: RequestContext,
  readers: CallerReader,
  ports: McpPorts,
): Promise<Reply> {
  const found = await findCaller(request, context, readers, ports)
  if (found.kind === 'refused') return found.reply
  if (found.kind === 'missing' && isOpenToAnybody(request, ports)) {
    return serveAnonymous(request, context, ports)
  }
  if (found.kind !== 'caller') return refuseCaller(found, context, ports.urls)
  const { caller } = found
  if (caller.grantId !== undefined) ports.grantUses.recordUse(caller.grantId, context.address)
  return (
    refuseScope(caller, [toolScope], { urls: ports.urls, scopes: ports.callers.scopes }) ??
    serve(request, caller, context, ports)
  )
}

function isOpenToAnybody(request: Request, { publicTools }: McpPorts): boolean {
  return publicTools.size > 0 && !new URL(request.url).searchParams.has(signInParameter)
}

/** Serves requests that need no sign-in. Everything else gets 401, so that a client signs in and sends it again. */
async function serveAnonymous(request: Request, context: RequestContext, ports: McpPorts): Promise<Reply> {
  // A client that only checks for a notification stream must not be made to sign in.
  if (request.method !== 'POST') return httpError('method_not_allowed', { allow: 'POST' })
  const body = await readMessage(request, maxOpenBodyBytes)
  if (body.kind === 'refused') return challenge([], ports.urls)
  const needed = ports.scopesOfCalls(callsOf(body.message), fullAccess)
  if (!isOpen(body.message, ports.publicTools)) return challenge(needed, ports.urls)
  // Access rules apply to users: anonymous callers see nothing that the rules might hide.
  const { policy } = ports.callers.access
  const allowsTool = policy && ((name: string): boolean => ports.publicTools.has(name))
  const caller = anonymousCaller({ kind: 'allowed', scopes: undefined, allowsTool }, policy?.mayOffer)
  try {
    return await serveCalls(request, body, caller, context, ports)
  } catch (error) {
    if (!(error instanceof SignInNeededError)) throw error
    return challenge(needed, ports.urls)
  }
}

async function serve(
  request: Request,
  caller: Caller,
  context: RequestContext,
  ports: McpPorts,
): Promise<Reply> {
  if (request.method === 'POST') {
    const body = await readMessage(request, maxBodyBytes)
    return body.kind === 'refused' ? body.response : serveCalls(request, body, caller, context, ports)
  }
  const { report } = context
  if (!ports.methods.includes(request.method))
    return httpError('method_not_allowed', { allow: ports.methods.join(', ') })
  report('mcp_request', { credential: caller.credential, grant_id: caller.grantId })
  const calls = new IncomingCalls({ caller, revision: undefined, requestBytes: 0, report, nowMs: () => 0 })
  return ports.serve(request, undefined, caller, calls)
}

/** Serves a message if its caller may make its calls: the scopes are present, and the limit of that user or address is not reached. */
async function serveCalls(
  request: Request,
  { message: given, text }: { message: unknown; text: string },
  caller: Caller,
  context: RequestContext,
  ports: McpPorts,
): Promise<Reply> {
  const made = callsOf(given)
  const { message, revision } = readContext(given, request, caller, context)
  const incoming = {
    caller,
    revision,
    requestBytes: Buffer.byteLength(text),
    report: context.report,
    nowMs: () => performance.now(),
  }
  const asked = { caller, body: message, calls: new IncomingCalls(incoming) }
  const signsIn = isSignIn(made, given, ports)
  const refused = signsIn ? undefined : await refuseCalls(made, request, asked, ports)
  if (refused) return refused
  const sources = caller.user ? personCalling(caller.user.id) : strangerCalling(context.address)
  const messages = Array.isArray(message) ? message.length : 1
  const load = { messages, bytes: incoming.requestBytes, requests: requestsUnderWay(message) }
  const admission = ports.callLimit.enter(sources, load)
  if (admission.kind === 'refused') {
    refuseAll(made, 'refused_limit', asked.calls, ports)
    return tooManyCalls(message, admission.retryAfterSeconds)
  }
  const { grantId } = caller
  const calls = new IncomingCalls({
    ...incoming,
    ...(grantId !== undefined && { called: (tool) => ports.grantUses.recordTool(grantId, tool) }),
    over() {
      admission.leave()
      context.callsOver?.()
    },
  })
  const method = methodOf(message)
  context.report('mcp_request', { credential: caller.credential, grant_id: grantId, method })
  try {
    const response = signsIn
      ? signedInAnswer(message)
      : await ports.serve(request, message, caller, calls, text)
    // Calls answered by a stream are over when it ends.
    if (!isEventStream(response)) calls.over()
    return response
  } catch (error) {
    calls.over()
    throw error
  }
}

/** Refuses the calls of a message if a scope of one is missing, after learning which they need. */
async function refuseCalls(
  made: readonly Call[],
  request: Request,
  asked: AskedCalls,
  ports: McpPorts,
): Promise<Reply | undefined> {
  const unserved = await ports.learn?.(request, asked)
  if (unserved) return unserved
  const { caller, calls } = asked
  const needed = ports.scopesOfCalls(made, caller.access)
  const refused = refuseScope(caller, needed, { urls: ports.urls, scopes: ports.callers.scopes })
  if (refused) refuseAll(made, 'refused_scope', calls, ports)
  return refused
}

function refuseAll(
  made: readonly Call[],
  outcome: CallOutcome,
  calls: IncomingCalls,
  ports: Pick<McpPorts, 'has'>,
): void {
  for (const call of made) calls.refuse(call, { outcome, isKnown: ports.has(call) })
}

/** Returns whether a caller who is let in sends the call that made a client sign in again. A tool of that name goes before. */
function isSignIn([call, ...others]: readonly Call[], message: unknown, ports: McpPorts): boolean {
  if (call?.event !== 'tool_called' || call.name !== signInTool.name || others.length > 0) return false
  return isJsonObject(message) && ports.publicTools.size > 0 && ports.has(call) !== true
}

/** Tells the context which trace the message belongs to. Returns the message to serve, and its revision. */
function readContext(
  given: unknown,
  request: Request,
  { user }: Caller,
  context: RequestContext,
): { message: unknown; revision: string | undefined } {
  const meta = metaOf(isJsonObject(given) && isJsonObject(given['params']) ? given['params'] : undefined)
  const revision = revisionOf(request, meta)
  const incoming = { message: given, traceparent: meta['traceparent'], revision, sub: user?.sub }
  return { message: context.trace?.(incoming) ?? given, revision }
}

/** Returns the method of a message for the log, where a text of any length has no place. */
function methodOf(message: unknown): string | undefined {
  const method = isJsonObject(message) ? message['method'] : undefined
  return typeof method === 'string' && method.length <= 100 ? method : undefined
}

/** Returns the revision of a message: in its envelope since 2026-07-28, before that in a header. */
function revisionOf(request: Request, meta: JsonObject): string | undefined {
  const named = meta[mcpMetaKey.protocolVersion] ?? request.headers.get(mcpHeader.protocolVersion)
  return typeof named === 'string' && /^\d{4}-\d\d-\d\d$/.test(named) ? named : undefined
}
