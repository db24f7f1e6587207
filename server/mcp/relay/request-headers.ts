import { plainNumber } from '@drawbridge/shared/exact-json.ts'
import { isExactNumber, isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { decodeMcpHeaderValue, encodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import { eraOfMessage, mcpHeader, mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf, paramsOf } from '@drawbridge/shared/mcp/params.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import { headerMismatchError, namedBy, standardHeaderMismatch } from '../tools/header-check.ts'
import { failureResponse } from '../failure-response.ts'

/**
 * The client's headers that are passed on, besides those that the upstream's document names: no credential, no identity, no hop, and
 * nothing that says how to read the message.
 */
const passed = /^(?:accept|last-event-id|traceparent|tracestate|baggage|mcp-(?!session-id$)[a-z0-9-]+)$/

/** Copies of what a message of 2026-07-28 says. */
const copied = /^mcp-(?:method|name|param-.*)$/

/** Parts of the headers of a request to the upstream. A later part replaces headers of an earlier one. */
export interface RequestHeaderParts {
  upstream: Pick<HttpUpstream, 'headers' | 'forward'>
  identity: Readonly<Record<string, string>>
  body: unknown
  /** The upstream's own id of the session. */
  sessionId: string | undefined
  /** The upstream's own ids of tasks, by those that the client knows. */
  taskIds: ReadonlyMap<string, string>
}

/** The headers of a request to the upstream. */
export function requestHeaders(
  given: Headers,
  { upstream, identity, body, sessionId, taskIds }: RequestHeaderParts,
): Record<string, string> {
  const headers: Record<string, string> = {}
  let texts: ReadonlySet<string> | undefined
  const argumentTexts = (): ReadonlySet<string> => (texts ??= argumentTextsOf(body))
  for (const [name, value] of given) {
    if (copied.test(name) && !saysTheSame(name, value, body, argumentTexts)) continue
    if (passed.test(name) || upstream.forward.includes(name)) headers[name] = value
  }
  const isAboutTask = isJsonObject(body) && String(body['method']).startsWith('tasks/')
  const task = isAboutTask ? taskIds.get(headers[mcpHeader.name.toLowerCase()] ?? '') : undefined
  if (task !== undefined) headers[mcpHeader.name.toLowerCase()] = encodeMcpHeaderValue(task)
  return {
    'accept-encoding': 'identity',
    ...headers,
    ...(body !== undefined && { 'content-type': 'application/json' }),
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
  const params = paramsOf(body)
  const named = headers.get(mcpHeader.method)
  const revision = String(metaOf(params)[mcpMetaKey.protocolVersion])
  const mismatch =
    named !== null && named !== method
      ? { header: named, body: `the body names method ${method} but the Mcp-Method header names ${named}` }
      : body['id'] !== undefined && standardHeaderMismatch({ method, params }, revision, headers)
  return mismatch ? failureResponse(400, headerMismatchError(mismatch), body) : undefined
}

/** Returns whether a header agrees with the part of the message that it copies. Only 2026-07-28 has such headers. */
function saysTheSame(
  header: string,
  value: string,
  body: unknown,
  argumentTexts: () => ReadonlySet<string>,
): boolean {
  if (!isModern(body)) return false
  const { method } = body
  if (typeof method !== 'string') return false
  if (header === mcpHeader.method.toLowerCase()) return value === method
  const params = paramsOf(body)
  const said = decodeMcpHeaderValue(value)
  if (said === undefined) return false
  if (header === mcpHeader.name.toLowerCase()) return said === namedBy({ method, params })
  // Which argument a tool has copied its schema says, which is for the upstream to check.
  return method === 'tools/call' && argumentTexts().has(said)
}

function argumentTextsOf(body: unknown): Set<string> {
  const texts = new Set<string>()
  const open: unknown[] = [paramsOf(body)?.['arguments']]
  while (open.length > 0) {
    const value = open.pop()
    if (isJsonObject(value)) open.push(...Object.values(value))
    else if (isExactNumber(value)) texts.add(JSON.stringify(value)).add(String(plainNumber(value)))
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      texts.add(String(value))
  }
  return texts
}

/** Returns whether a message is one of 2026-07-28. */
export function isModern(body: unknown): body is JsonObject {
  return isJsonObject(body) && eraOfMessage(body) === 'modern'
}
