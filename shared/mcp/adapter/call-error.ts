import { isJsonObject } from '../../json-object.ts'
import type { JsonObject } from '../../json-object.ts'
import { jsonRpcCode } from '../json-rpc.ts'
import type { JsonRpcError, JsonRpcResponse } from '../json-rpc.ts'
import { mcpErrorCode } from '../mcp-protocol.ts'
import type { DescribeFailure } from './ports.ts'

/** The `error` member of a response. */
export type ErrorMember = JsonRpcError['error']

/** Ends a call with this error. The message is for the client. */
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
export function errorMember(error: unknown, describeFailure: DescribeFailure): ErrorMember {
  if (!(error instanceof CallError)) return describeFailure(error)
  const { code, message, data } = error
  return data === undefined ? { code, message } : { code, message, data }
}

/** The result of a response as an object. Throws {@link CallError}. */
export function resultObject(response: Exclude<JsonRpcResponse, JsonRpcError>): JsonObject {
  if (isJsonObject(response.result)) return response.result
  throw new CallError(jsonRpcCode.internalError, 'The server answered with a result that is no object.')
}

/**
 * An error of a 2026-07-28 server for a 2025 client: `-32602` for a resource is `-32002` there, and what the
 * revision added (-32020 to -32099) is unknown there.
 */
export function toError2025(error: ErrorMember, method: string, params: JsonObject | undefined): ErrorMember {
  const missing = method === 'resources/read' && typeof params?.['uri'] === 'string'
  if (missing && error.code === jsonRpcCode.invalidParams)
    return { ...error, code: mcpErrorCode.resourceNotFound }
  return withoutSpecCode(error)
}

/** An error of a 2025 server for a 2026-07-28 client. `-32042` has to be dealt with before: as any code of that range it becomes -32603. */
export function toError2026(error: ErrorMember): ErrorMember {
  if (error.code === mcpErrorCode.resourceNotFound) return { ...error, code: jsonRpcCode.invalidParams }
  return withoutSpecCode(error)
}

function withoutSpecCode(error: ErrorMember): ErrorMember {
  const ofOneEra = error.code <= mcpErrorCode.headerMismatch && error.code >= -32_099
  return ofOneEra ? { ...error, code: jsonRpcCode.internalError } : error
}
