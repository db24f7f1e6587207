import { isJsonObject } from '../../json-object.ts'
import type { JsonObject } from '../../json-object.ts'
import { jsonRpcCode } from '../json-rpc.ts'
import type { JsonRpcErrorObject, JsonRpcResult } from '../json-rpc.ts'
import { mcpErrorCode } from '../mcp-protocol.ts'
import type { DescribeFailure } from './ports.ts'

/** Thrown to end a call with this error. The message is for the client. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** The `error` member for a failure, to be sent to the client. */
export function errorObject(error: unknown, describeFailure: DescribeFailure): JsonRpcErrorObject {
  if (!(error instanceof CallError)) return describeFailure(error)
  const { code, message, data } = error
  return data === undefined ? { code, message } : { code, message, data }
}

/** The result of a response as an object. Throws {@link CallError}. */
export function resultObject(response: JsonRpcResult): JsonObject {
  if (isJsonObject(response.result)) return response.result
  throw new CallError(jsonRpcCode.internalError, 'The server sent a result that is not an object.')
}

/**
 * An error of a 2026-07-28 server for a 2025 client, which expects `-32002` for a missing resource instead of `-32602`
 * and does not know the codes that the newer revision added (-32020 to -32099).
 */
export function toError2025(
  error: JsonRpcErrorObject,
  method: string,
  params: JsonObject | undefined,
): JsonRpcErrorObject {
  const missing = method === 'resources/read' && typeof params?.['uri'] === 'string'
  if (missing && error.code === jsonRpcCode.invalidParams)
    return { ...error, code: mcpErrorCode.resourceNotFound }
  return withoutRevisionCode(error)
}

/** An error of a 2025 server for a 2026-07-28 client. Handle `-32042` first: like every code of that range it becomes -32603 here. */
export function toError2026(error: JsonRpcErrorObject): JsonRpcErrorObject {
  if (error.code === mcpErrorCode.resourceNotFound) return { ...error, code: jsonRpcCode.invalidParams }
  return withoutRevisionCode(error)
}

function withoutRevisionCode(error: JsonRpcErrorObject): JsonRpcErrorObject {
  const ofOneRevision = error.code <= mcpErrorCode.headerMismatch && error.code >= -32_099
  return ofOneRevision ? { ...error, code: jsonRpcCode.internalError } : error
}
