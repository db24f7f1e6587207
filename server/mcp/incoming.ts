import type { AuthInfo } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { readMediaRanges, weightOf } from '@drawbridge/shared/media-range.ts'
import { eraOfMessage, mcpHeader, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf, paramsOf } from '@drawbridge/shared/mcp/params.ts'
import type { IncomingCalls } from '../core/access/call-record.ts'
import type { Caller } from '../core/tokens/caller.ts'

/** The request being served. `body` is the parsed message or batch; undefined for a GET. */
export interface Incoming {
  caller: Caller
  body: unknown
  calls: IncomingCalls
}

/** Maximum length, as JSON, of a message that stays in memory with the stream or session it opens. */
export const maxKeptLength: number = 64 * 1024

/**
 * Returns whether a message that opens a stream or session is too long to stay in memory with it: a thousand messages of the
 * maximum body size would use up all memory.
 */
export function isTooLongToKeep(message: unknown): boolean {
  return JSON.stringify(message).length > maxKeptLength
}

/** Returns the objects in a message or batch. */
export function messagesIn(body: unknown): JsonObject[] {
  return (Array.isArray(body) ? body : [body]).filter(isJsonObject)
}

/** Returns whether a body has the `initialize` that opens a session. */
export function opensSession(body: unknown): boolean {
  return messagesIn(body).some(({ method }) => method === 'initialize')
}

/** Returns whether a body has a request, which expects a response. */
export function hasRequest(body: unknown): boolean {
  return messagesIn(body).some(({ method, id }) => method !== undefined && id !== undefined)
}

/**
 * Corrects headers that clients of earlier revisions are known to get wrong: hosted assistants send the newest version header with an
 * otherwise old message, hand-written calls send no `Accept`, and others write it in forms that the SDK does not expect.
 */
export function lenientHeaders(given: Headers, body: unknown): Headers {
  const isModern = isRevision2026(given, body)
  const accept = canonicalAccept(given.get('accept'), isModern)
  const wrongVersion = given.get(mcpHeader.protocolVersion) === modernRevision && !isModern
  if (!wrongVersion && accept === undefined) return given
  const headers = new Headers(given)
  if (wrongVersion) headers.delete(mcpHeader.protocolVersion)
  if (accept !== undefined) headers.set('accept', accept)
  return headers
}

const types = ['application/json', 'text/event-stream'] as const

/**
 * Rewrites an `Accept` to the names of the MCP types that it covers, since the SDK looks for the names only. Lets earlier revisions
 * have streams. Undefined: no change.
 */
function canonicalAccept(accept: string | null, isModern: boolean): string | undefined {
  const ranges = readMediaRanges(accept)
  const accepted = types.filter((type) => weightOf(ranges, type) > 0)
  const named = !isModern && accepted[0] === types[0] ? types : accepted
  const text = named.join(', ')
  return text === '' || text === accept ? undefined : text
}

/**
 * Returns the request with {@link lenientHeaders}. A changed copy has no signal, as it could lose it to the garbage collector: callers
 * that need it pass the original signal on.
 */
export function withLenientHeaders(request: Request, body: unknown): Request {
  const headers = lenientHeaders(request.headers, body)
  return headers === request.headers ? request : new Request(request.url, { method: request.method, headers })
}

function isRevision2026(headers: Headers, body: unknown): boolean {
  if (!isJsonObject(body)) return false
  const discovers = body['method'] === 'server/discover'
  return discovers || eraOfMessage(body) === 'modern' || headers.has(mcpHeader.method)
}

/** Returns whether a message requests progress, which earlier revisions can only send in a stream. */
export function asksForProgress(body: unknown): boolean {
  return (metaOf(paramsOf(body))[mcpMetaKey.progressToken] ?? null) !== null
}

/**
 * Returns the caller in the form that the SDK passes to handlers. Leaves out the token, which it requires: handlers get the caller.
 */
export function authInfoOf(
  caller: Caller,
  resourceMetadata: string,
): AuthInfo & { extra: { caller: Caller } } {
  const { clientId, scope, expiresAt } = caller
  return {
    token: '',
    clientId: clientId ?? '',
    scopes: scope.split(' '),
    expiresAt,
    resourceMetadataUrl: resourceMetadata,
    extra: { caller },
  }
}
