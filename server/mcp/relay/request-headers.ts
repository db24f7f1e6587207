import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { eraOfMessage, mcpHeader, mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import { headerMismatchError } from '../plain/plain-route.ts'
import { standardHeaderMismatch } from '../tools/header-check.ts'
import { failureResponse } from './failure-response.ts'

/** Of the client's headers only these go on, and those that the upstream's document names: no credential, no identity, no hop. */
const passed =
  /^(?:accept|content-type|last-event-id|traceparent|tracestate|baggage|mcp-(?!session-id$)[a-z0-9-]+)$/

/** Copies of what a message of 2026-07-28 says. With any other message nobody has checked them. */
const copied = /^mcp-(?:method|name|param-.*)$/

/** What the headers of a request to the upstream are made of. A later one replaces an earlier one of the same name. */
export interface RequestHeaderParts {
  upstream: Pick<HttpUpstream, 'headers' | 'forward'>
  /** Those that say who calls. */
  identity: Readonly<Record<string, string>>
  body: unknown
  /** The upstream's own id of the session. */
  sessionId: string | undefined
}

/** The headers of a request to the upstream. */
export function requestHeaders(
  given: Headers,
  { upstream, identity, body, sessionId }: RequestHeaderParts,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of given) {
    if (copied.test(name) && !isModern(body)) continue
    if (passed.test(name) || upstream.forward.includes(name)) headers[name] = value
  }
  return {
    ...headers,
    ...upstream.headers,
    ...identity,
    ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
  }
}

/** A router in front of the upstream may go by the headers: those of 2026-07-28 must say what the message says. */
export function refuseHeaders({ headers }: Request, body: unknown): Response | undefined {
  if (!isModern(body)) return undefined
  const { method } = body
  if (typeof method !== 'string') return undefined
  const params = isJsonObject(body['params']) ? body['params'] : undefined
  const named = headers.get(mcpHeader.method)
  const revision = String(metaOf(params)[mcpMetaKey.protocolVersion])
  const mismatch =
    named !== null && named !== method
      ? { header: named, body: `the body names method ${method} but the Mcp-Method header names ${named}` }
      : body['id'] !== undefined && standardHeaderMismatch({ method, params }, revision, headers)
  return mismatch ? failureResponse(400, headerMismatchError(mismatch), body) : undefined
}

function isModern(body: unknown): body is JsonObject {
  return isJsonObject(body) && eraOfMessage(body as unknown as JsonRpcMessage) === 'modern'
}
