import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  jsonRpcCode,
  type JsonRpcError,
  jsonRpcError,
  type JsonRpcErrorObject,
  type JsonRpcId,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { transportErrorCode } from '@drawbridge/shared/mcp/mcp-protocol.ts'

/** The ids of the requests in a message or batch. */
function requestIds(body: unknown): JsonRpcId[] {
  return (Array.isArray(body) ? body : [body]).flatMap((message: unknown) => {
    if (!isJsonObject(message) || typeof message['method'] !== 'string') return []
    const { id } = message
    return typeof id === 'string' || typeof id === 'number' ? [id] : []
  })
}

/** The answer to a message that failed: `error` for each request, with its id. Never cached. */
export function failureResponse(
  status: number,
  { code, message, data }: JsonRpcErrorObject,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const errorOf = (id: JsonRpcId | null): JsonRpcError => jsonRpcError(id, code, message, data)
  const all = requestIds(body).map(errorOf)
  const answer = Array.isArray(body) && all.length > 0 ? all : (all[0] ?? errorOf(null))
  return Response.json(answer, { status, headers: { 'cache-control': 'no-store', ...headers } })
}

/** The error for what is not the client's fault. */
export function internalError(message: string): JsonRpcErrorObject {
  return { code: jsonRpcCode.internalError, message }
}

/** The answer to an id of a session that is not there, or not for this caller. */
export function sessionNotFound(body: unknown): Response {
  const message = 'Session not found. Send initialize without Mcp-Session-Id to open a new one.'
  return failureResponse(404, { code: transportErrorCode.sessionNotFound, message }, body)
}

/** Whether the text of an answer is a JSON-RPC error. */
export function isJsonRpcError(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) && value['jsonrpc'] === '2.0' && 'error' in value
  } catch {
    return false
  }
}
