import type { AuthInfo } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { readMediaRanges, weightOf } from '@drawbridge/shared/media-range.ts'
import { eraOfMessage, mcpHeader, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf, paramsOf } from '@drawbridge/shared/mcp/params.ts'
import type { IncomingCalls } from '../core/access/call-record.ts'
import type { Caller } from '../core/tokens/caller.ts'

/** The request that is being served: its caller, and the parsed message or batch; undefined for a GET. */
export interface Incoming {
  caller: Caller
  body: unknown
  calls: IncomingCalls
}

/** The maximum length, as JSON, of a message that stays in memory as long as the stream or session that it opened. */
export const maxKeptLength: number = 64 * 1024

/**
 * Returns whether a message that opens a stream or session is too long to stay in memory with it: a thousand messages of the
 * maximum body size would use up all memory.
 */
export function isTooLongToKeep(message: unknown): boolean {
  return JSON.stringify(message).length > maxKeptLength
}

/** The objects in a message or batch. */
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
 * The headers, corrected where clients of earlier revisions are known to be wrong: hosted assistants send the newest
 * version header with an otherwise old message, hand-written calls send no Accept header, and others write it in other ways
 * than the readers below expect.
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
 * Names the types of MCP that an `Accept` means, for readers that look for the names alone. An earlier revision is not kept from
 * streams. Undefined: it stays.
 */
function canonicalAccept(accept: string | null, isModern: boolean): string | undefined {
  const ranges = readMediaRanges(accept)
  const accepted = types.filter((type) => weightOf(ranges, type) > 0)
  const named = !isModern && accepted[0] === types[0] ? types : accepted
  const text = named.join(', ')
  return text === '' || text === accept ? undefined : text
}

/**
 * The request with {@link lenientHeaders}. A changed one has no signal, which a copied request would lose to the garbage
 * collector: where the end of the client matters, the original signal is passed on beside it.
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

/** Returns whether a message asks for progress, which earlier revisions can only send in a stream. */
export function asksForProgress(body: unknown): boolean {
  return (metaOf(paramsOf(body))[mcpMetaKey.progressToken] ?? null) !== null
}

/**
 * The form in which the SDK passes a caller on to handlers. It requires a token, but handlers get the caller instead, so
 * the credential itself is left out.
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
