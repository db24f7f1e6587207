import { plainNumber } from '@drawbridge/shared/exact-json.ts'
import { isExactNumber, isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { decodeMcpHeaderValue, encodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import { eraOfMessage, mcpHeader, mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf, paramsOf } from '@drawbridge/shared/mcp/params.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import { headerMismatchError, namedBy, standardHeaderMismatch } from '../tools/header-check.ts'
import { failureResponse } from '../failure-response.ts'

/**
 * The client's headers that are passed on, besides those of MCP and those named in the upstream file: no credentials, no identity, no
 * hop-by-hop header, and none that changes how the message is read.
 */
const passed = ['accept', 'last-event-id', 'traceparent', 'tracestate', 'baggage']

/** Headers that repeat a part of a 2026-07-28 message. */
const copied = /^mcp-(?:method|name|param-.*)$/

/** The sources of an upstream request's headers. Later ones replace headers of earlier ones. */
export interface RequestHeaderParts {
  upstream: Pick<HttpUpstream, 'headers' | 'forward'>
  identity: Readonly<Record<string, string>>
  body: unknown
  /** The upstream's session id. */
  sessionId: string | undefined
  /** The upstream's task ids, by the client's. */
  taskIds: ReadonlyMap<string, string>
}

/** Returns the headers of a request to the upstream. */
export function requestHeaders(
  given: Headers,
  { upstream, identity, body, sessionId, taskIds }: RequestHeaderParts,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name of [...passed, ...mcpHeadersOf(given, body), ...upstream.forward]) {
    const value = given.get(name)
    if (value !== null) headers[name] = value
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

/** Returns the names of MCP's headers in a request, without those that its message contradicts. */
function mcpHeadersOf(given: Headers, body: unknown): string[] {
  // Earlier revisions have no others. To list all headers takes longer than all else here.
  if (!isModern(body)) return [mcpHeader.protocolVersion.toLowerCase()]
  let texts: ReadonlySet<string> | undefined
  const argumentTexts = (): ReadonlySet<string> => (texts ??= argumentTextsOf(body))
  return [...given].flatMap(([name, value]) => {
    const isOfMcp = name.startsWith('mcp-')
    return isOfMcp && (!copied.test(name) || saysTheSame(name, value, body, argumentTexts)) ? [name] : []
  })
}

/** Refuses a 2026-07-28 message whose headers disagree with it: a router in front of the upstream may go by the headers. */
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

/** Returns whether a header agrees with a 2026-07-28 message. */
function saysTheSame(
  header: string,
  value: string,
  body: JsonObject,
  argumentTexts: () => ReadonlySet<string>,
): boolean {
  const { method } = body
  if (typeof method !== 'string') return false
  if (header === mcpHeader.method.toLowerCase()) return value === method
  const params = paramsOf(body)
  const said = decodeMcpHeaderValue(value)
  if (said === undefined) return false
  if (header === mcpHeader.name.toLowerCase()) return said === namedBy({ method, params })
  // The tool's schema says which argument is repeated: the upstream checks that.
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

/** Returns whether the message is of revision 2026-07-28. */
export function isModern(body: unknown): body is JsonObject {
  return isJsonObject(body) && eraOfMessage(body) === 'modern'
}
