import { isJsonObject, type JsonObject } from '../../json-object.ts'
import { jsonRpcCode, type JsonRpcErrorObject, type JsonRpcResponse } from '../json-rpc.ts'
import { mcpErrorCode } from '../mcp-protocol.ts'
import type { DescribeFailure, ErrorResponses } from './ports.ts'

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

/**
 * Returns the result of a request. An error in the body of a 4xx counts as a response. Throws what `toError` makes of an error
 * response, {@link CallError} for a result that is not an object, and any other failure as it is.
 */
export async function resultOf(
  sent: Promise<JsonRpcResponse>,
  server: ErrorResponses,
  toError: (error: JsonRpcErrorObject) => CallError,
): Promise<JsonObject> {
  const response = await sent.catch((failure: unknown) => {
    const body = server.errorResponse(failure)
    if (body === undefined) throw failure
    return body
  })
  if ('error' in response) throw toError(response.error)
  if (isJsonObject(response.result)) return response.result
  throw new CallError(jsonRpcCode.internalError, 'The server sent a result that is not an object.')
}

/**
 * An error of a 2026-07-28 server for a 2025 client, which expects `-32002` for a missing resource instead of `-32602`
 * and does not know the codes that the newer revision added (-32020 to -32099).
 */
export function toError2025(
  { code, message, data }: JsonRpcErrorObject,
  method: string,
  params: JsonObject | undefined,
): CallError {
  const isResource = method === 'resources/read' && typeof params?.['uri'] === 'string'
  if (isResource && code === jsonRpcCode.invalidParams)
    return new CallError(mcpErrorCode.resourceNotFound, message, data)
  return new CallError(isOfOneRevision(code) ? jsonRpcCode.internalError : code, message, data)
}

/** An error of a 2025 server for a 2026-07-28 client. `-32042` stays, because it asks for input. */
export function toError2026({ code, message, data }: JsonRpcErrorObject): CallError {
  if (code === mcpErrorCode.resourceNotFound) return new CallError(jsonRpcCode.invalidParams, message, data)
  const isUnknown = isOfOneRevision(code) && code !== mcpErrorCode.urlElicitationRequired
  return new CallError(isUnknown ? jsonRpcCode.internalError : code, message, data)
}

function isOfOneRevision(code: number): boolean {
  return code <= mcpErrorCode.headerMismatch && code >= -32_099
}
