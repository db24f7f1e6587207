import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode, jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'

/** Why a message cannot be served now. The message is for the client, and ends with the next step. */
export class Unavailable extends Error {
  readonly status: 502 | 503 | 504
  readonly retryAfterSeconds: number | undefined

  constructor(status: Unavailable['status'], message: string, retryAfterSeconds?: number) {
    super(message)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The response that says so, with an error for each request of `body`. */
export function unavailableResponse(body: unknown, reason: Unavailable): Response {
  const { status, message, retryAfterSeconds } = reason
  const errorOf = (each: unknown): object[] => {
    const id = isJsonObject(each) && typeof each['method'] === 'string' ? each['id'] : undefined
    const isRequest = typeof id === 'string' || typeof id === 'number'
    return isRequest ? [jsonRpcError(id, jsonRpcCode.internalError, message)] : []
  }
  const single = Array.isArray(body) ? undefined : errorOf(body)[0]
  const answer = Array.isArray(body)
    ? body.flatMap(errorOf)
    : (single ?? jsonRpcError(null, jsonRpcCode.internalError, message))
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  return Response.json(answer, { status, headers })
}
