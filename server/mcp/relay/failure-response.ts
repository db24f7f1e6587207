import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, jsonRpcError, type JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'

/** The ids of the requests in a message or batch. */
export function requestIds(body: unknown): JsonRpcId[] {
  return (Array.isArray(body) ? body : [body]).flatMap((message: unknown) => {
    if (!isJsonObject(message) || typeof message['method'] !== 'string') return []
    const { id } = message
    return typeof id === 'string' || typeof id === 'number' ? [id] : []
  })
}

/** The answer to a message that failed: an error for each request, with its id. Never cached. */
export function failureResponse(
  status: number,
  text: string,
  body: unknown,
  { code = jsonRpcCode.internalError as number, headers = {} as Record<string, string> } = {},
): Response {
  const all = requestIds(body).map((id) => jsonRpcError(id, code, text))
  const answer = Array.isArray(body) && all.length > 0 ? all : (all[0] ?? jsonRpcError(null, code, text))
  return Response.json(answer, { status, headers: { 'cache-control': 'no-store', ...headers } })
}
