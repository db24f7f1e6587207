import { isJsonObject } from '../json-object.ts'
import type { JsonObject } from '../json-object.ts'

/** A request id. MCP forbids `null` and requires that responses repeat it unchanged (MCP 2026-07-28 basic, requests). */
export type JsonRpcId = string | number

/** A message that expects a response. */
export interface JsonRpcRequest {
  jsonrpc: '2.0'
  id: JsonRpcId
  method: string
  params?: JsonObject
}

/** A message without `id`, which gets no response. */
export interface JsonRpcNotification {
  jsonrpc: '2.0'
  method: string
  params?: JsonObject
}

/** The response to a request that succeeded. */
export interface JsonRpcResult {
  jsonrpc: '2.0'
  id: JsonRpcId
  result: unknown
}

/** The response to a request that failed. `id` is `null` or absent if the request's id could not be read. */
export interface JsonRpcError {
  jsonrpc: '2.0'
  id?: JsonRpcId | null
  error: JsonRpcErrorObject
}

/** The `error` member of a response. */
export interface JsonRpcErrorObject {
  code: number
  message: string
  data?: unknown
}

/** A result or an error. */
export type JsonRpcResponse = JsonRpcResult | JsonRpcError

/** Any single message. */
export type JsonRpcMessage = JsonRpcRequest | JsonRpcNotification | JsonRpcResponse

/** The kind of a parsed message. `id` of an invalid message is the one that an error response should repeat. */
export type ParsedJsonRpcMessage =
  | { kind: 'request'; message: JsonRpcRequest }
  | { kind: 'notification'; message: JsonRpcNotification }
  | { kind: 'response'; message: JsonRpcResponse }
  | { kind: 'invalid'; id: JsonRpcId | null; reason: string }

/** Error codes of JSON-RPC 2.0 section 5.1. The codes MCP adds are `mcpErrorCode`. */
export const jsonRpcCode = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
} as const

/**
 * Sorts a parsed JSON value into request, notification or response (JSON-RPC 2.0 sections 4 and 5, with MCP's
 * restrictions: ids are strings or numbers, `params` is an object, no batches). The message is the same
 * object, unknown members included, so a proxy forwards it unchanged. Method names, `params` content and
 * `result` are not checked.
 */
export function parseJsonRpcMessage(value: unknown): ParsedJsonRpcMessage {
  if (Array.isArray(value)) return invalid(null, 'batches are not supported')
  if (!isJsonObject(value)) return invalid(null, 'a message must be an object')
  const id = isJsonRpcId(value['id']) ? value['id'] : null
  if (value['jsonrpc'] !== '2.0') return invalid(id, 'jsonrpc must be "2.0"')
  return 'method' in value ? parseCall(value, id) : parseResponse(value, id)
}

/** The id of the request in a body, for the error response; `null` if there is none. */
export function requestIdOf(body: unknown): JsonRpcId | null {
  if (!isJsonObject(body) || typeof body['method'] !== 'string') return null
  return isJsonRpcId(body['id']) ? body['id'] : null
}

/** An error response. `data` is left out if `undefined`. */
export function jsonRpcError(
  id: JsonRpcId | null,
  code: number,
  message: string,
  data?: unknown,
): JsonRpcError {
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } }
}

function parseCall(value: JsonObject, id: JsonRpcId | null): ParsedJsonRpcMessage {
  if (typeof value['method'] !== 'string') return invalid(id, 'method must be a string')
  if ('result' in value || 'error' in value) return invalid(id, 'a call has neither result nor error')
  if ('params' in value && !isJsonObject(value['params'])) return invalid(id, 'params must be an object')
  if (isRequest(value)) return { kind: 'request', message: value }
  if (isNotification(value)) return { kind: 'notification', message: value }
  return invalid(null, 'id must be a string or a number')
}

function parseResponse(value: JsonObject, id: JsonRpcId | null): ParsedJsonRpcMessage {
  if ('result' in value === 'error' in value) return invalid(id, 'expected a method, a result or an error')
  if ('error' in value && !isErrorObject(value['error']))
    return invalid(id, 'error must have an integer code and a message')
  if (isErrorResponse(value) || isResult(value)) return { kind: 'response', message: value }
  return invalid(null, 'id must be a string or a number')
}

// These guards check the id only; their callers have checked the rest.
function isRequest(value: object): value is JsonRpcRequest {
  return 'id' in value && isJsonRpcId(value.id)
}

function isNotification(value: object): value is JsonRpcNotification {
  return !('id' in value)
}

function isResult(value: object): value is JsonRpcResult {
  return 'result' in value && 'id' in value && isJsonRpcId(value.id)
}

function isErrorResponse(value: object): value is JsonRpcError {
  return 'error' in value && (!('id' in value) || value.id === null || isJsonRpcId(value.id))
}

function isErrorObject(value: unknown): boolean {
  return isJsonObject(value) && Number.isInteger(value['code']) && typeof value['message'] === 'string'
}

function invalid(id: JsonRpcId | null, reason: string): ParsedJsonRpcMessage {
  return { kind: 'invalid', id, reason }
}

function isJsonRpcId(value: unknown): value is JsonRpcId {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}
