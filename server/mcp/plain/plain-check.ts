import {
  classifyInboundRequest,
  type InboundClassificationOutcome,
  isInitializeRequest,
  isJSONRPCRequest,
  type JSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import { readMediaRanges, weightOf } from '@drawbridge/shared/media-range.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  jsonRpcCode,
  type JsonRpcErrorObject,
  type JsonRpcId,
  requestIdOf,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import {
  eraOfMessage,
  mcpErrorCode,
  mcpHeader,
  modernRevision,
  transportErrorCode,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { paramsOf } from '@drawbridge/shared/mcp/params.ts'
import { lenientHeaders } from '../incoming.ts'
import {
  headerMismatchError,
  parameterHeaderMismatch,
  standardHeaderMismatch,
} from '../tools/header-check.ts'
import type { ToolDefinition } from '../tools/tool.ts'

export type PlainCheck =
  | { kind: 'refused'; status: number; error: JsonRpcErrorObject; id: JsonRpcId | null }
  /** Notifications and responses, with nothing to do. */
  | { kind: 'accepted' }
  | { kind: 'revision_2026'; message: JSONRPCRequest }
  /** The requests of a message or batch of an earlier revision; never empty. */
  | { kind: 'earlier'; requests: readonly JSONRPCRequest[] }

/**
 * Finds the revision of a message, by its body, with the headers as a cross-check (MCP 2026-07-28 versioning), and checks it as far as
 * that revision demands before the method is looked at: envelope and headers at 2026-07-28, `Accept`, version and batches before.
 * Parameters are not checked.
 */
export function checkMessage(
  given: Headers,
  body: unknown,
  tools: ReadonlyMap<unknown, ToolDefinition>,
): PlainCheck {
  const { _meta: meta } = paramsOf(body) ?? {}
  if (meta !== undefined && !isJsonObject(meta)) {
    const error = { code: jsonRpcCode.invalidParams, message: 'The parameter _meta must be an object.' }
    return { kind: 'refused', status: 400, error, id: requestIdOf(body) }
  }
  const headers = lenientHeaders(given, body)
  const route = classify(headers, body)
  if (route.kind === 'reject') {
    const { httpStatus, code, message, data } = route
    return { kind: 'refused', status: httpStatus, error: { code, message, data }, id: requestIdOf(body) }
  }
  if (route.kind === 'legacy') return checkEarlier(Array.isArray(body) ? body : [body], headers)
  const { message, classification } = route
  const { revision = '' } = classification
  if (revision !== modernRevision) {
    const error = {
      code: mcpErrorCode.unsupportedProtocolVersion,
      message: `Unsupported protocol version: ${revision}`,
      data: { supported: [modernRevision], requested: revision },
    }
    return { kind: 'refused', status: 400, error, id: requestIdOf(message) }
  }
  return isRequest(message) ? check2026(message, headers, tools) : { kind: 'accepted' }
}

/**
 * Returns whether a message certainly is a request of an earlier revision, as most are: the SDK's classifier would take 8 us for each,
 * mainly to find that it is not a response.
 */
export function isEarlierRequest(headers: Headers, body: unknown): boolean {
  const version = headers.get(mcpHeader.protocolVersion) ?? ''
  return version < modernRevision && isJSONRPCRequest(body) && eraOfMessage(body) === 'legacy'
}

function classify(headers: Headers, body: unknown): InboundClassificationOutcome | { kind: 'legacy' } {
  const version = headers.get(mcpHeader.protocolVersion)
  const method = headers.get(mcpHeader.method)
  if (isEarlierRequest(headers, body)) return { kind: 'legacy' }
  return classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...(version !== null && { protocolVersionHeader: version }),
    ...(method !== null && { mcpMethodHeader: method }),
  })
}

function check2026(
  message: JSONRPCRequest,
  headers: Headers,
  tools: ReadonlyMap<unknown, ToolDefinition>,
): PlainCheck {
  const { method, params } = message
  const tool = method === 'tools/call' ? tools.get(params?.['name']) : undefined
  const mismatch =
    standardHeaderMismatch(message, modernRevision, headers) ??
    (tool && parameterHeaderMismatch(tool.headerParameters, params?.['arguments'], headers))
  return mismatch
    ? { kind: 'refused', status: 400, error: headerMismatchError(mismatch), id: message.id }
    : { kind: 'revision_2026', message }
}

function checkEarlier(messages: readonly unknown[], headers: Headers): PlainCheck {
  const ranges = readMediaRanges(headers.get('accept'))
  if (['application/json', 'text/event-stream'].some((type) => weightOf(ranges, type) === 0)) {
    const message = 'Not Acceptable: Client must accept both application/json and text/event-stream'
    return { kind: 'refused', status: 406, error: { code: transportErrorCode.refused, message }, id: null }
  }
  const error = batchError(messages) ?? versionError(messages, headers.get(mcpHeader.protocolVersion))
  if (error) return { kind: 'refused', status: 400, error, id: null }
  const requests = messages.filter(isRequest)
  return requests.length === 0 ? { kind: 'accepted' } : { kind: 'earlier', requests }
}

function batchError(messages: readonly unknown[]): JsonRpcErrorObject | undefined {
  const code = jsonRpcCode.invalidRequest
  return messages.length > 1 && messages.some(isOpening)
    ? { code, message: 'Invalid Request: Only one initialization request is allowed' }
    : undefined
}

function versionError(messages: readonly unknown[], version: string | null): JsonRpcErrorObject | undefined {
  if (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return undefined
  // The client names the version that it wants in the message.
  if (messages.some(isOpening)) return undefined
  const supported = SUPPORTED_PROTOCOL_VERSIONS.join(', ')
  const message = `Bad Request: Unsupported protocol version: ${version} (supported versions: ${supported})`
  return { code: transportErrorCode.refused, message }
}

function isOpening(message: unknown): boolean {
  return isJsonObject(message) && message['method'] === 'initialize' && isInitializeRequest(message)
}

function isRequest(message: unknown): message is JSONRPCRequest {
  return isJsonObject(message) && 'method' in message && 'id' in message
}
