import { parseExactJson, parseExactObject, plainNumber } from '../exact-json.ts'
import { isExactNumber, isJsonObject, type JsonObject } from '../json-object.ts'
import { structureOf } from '../json-structure.ts'

/**
 * A request id. MCP forbids `null` and requires that responses repeat it unchanged (MCP 2026-07-28 basic, requests). In a message of
 * `parseExactJson`, a number that JavaScript would write otherwise is an object in its place.
 */
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

export interface JsonRpcErrorObject {
  code: number
  message: string
  data?: unknown
}

export type JsonRpcResponse = JsonRpcResult | JsonRpcError

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

/** Makes an error response. `data` is left out if `undefined`. */
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
  const { params = null } = value
  // Some clients' JSON libraries write null for absent members.
  if (params !== null && !isJsonObject(params)) return invalid(id, 'params must be an object')
  if (isRequest(value)) return { kind: 'request', message: value }
  if (isNotification(value)) return { kind: 'notification', message: value }
  return invalid(null, 'id must be a string or a number')
}

function parseResponse(value: JsonObject, id: JsonRpcId | null): ParsedJsonRpcMessage {
  if ('result' in value === 'error' in value) return invalid(id, 'expected a method, a result or an error')
  if ('error' in value && !isErrorObject(value['error']))
    return invalid(id, 'error must have an integer code and a message')
  if (isResponse(value)) return { kind: 'response', message: value }
  return invalid(null, 'id must be a string or a number')
}

// These guards check the id only; their callers have checked the rest.
function isRequest(value: object): value is JsonRpcRequest {
  return 'id' in value && isJsonRpcId(value.id)
}

function isNotification(value: object): value is JsonRpcNotification {
  return !('id' in value)
}

function isResponse(value: JsonObject): value is JsonObject & JsonRpcResponse {
  const { id = null } = value
  return isJsonRpcId(id) || ('error' in value && id === null)
}

function isErrorObject(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    Number.isInteger(plainNumber(value['code'])) &&
    typeof value['message'] === 'string'
  )
}

function invalid(id: JsonRpcId | null, reason: string): ParsedJsonRpcMessage {
  return { kind: 'invalid', id, reason }
}

/** Returns whether a value can be the id of a request, or a progress token. */
export function isJsonRpcId(value: unknown): value is JsonRpcId {
  return (
    typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value)) || isExactNumber(value)
  )
}

/** The kind of a message, by its outermost members. `invalid`: not a message, or not valid on its own. */
export type Envelope =
  | { kind: 'request'; id: JsonRpcId; method: string }
  | { kind: 'notification'; method: string }
  | { kind: 'response'; id: JsonRpcId; isError: boolean }
  /** Only 2025-03-26 has batches. */
  | { kind: 'batch' }
  | { kind: 'invalid'; id: JsonRpcId | null; reason: string }

/** A message to pass on unchanged: JSON without line breaks, so that it can be a line of stdio. */
export interface WireMessage {
  readonly text: string
  /** The same as UTF-8, if that is at hand: written in place of the text. */
  readonly bytes?: Uint8Array
  envelope: Envelope
  /** The HTTP status of a response that arrived in the body of an error; undefined otherwise. */
  status?: number
  /** The bridge made it for a server that requires a sign-in, so it tells nothing about the server. */
  isStandIn?: true
}

/** The `reason` of an invalid envelope that is a parse error in JSON-RPC (-32700); any other is an invalid request. */
export const notJsonReason = 'not valid JSON in UTF-8'

const notJson: Envelope = { kind: 'invalid', id: null, reason: notJsonReason }

// Drops a byte order mark, which programs on Windows write first (RFC 8259 section 8.1).
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads the message in a line, a body or an event. Line breaks, which JSON has only between its tokens, become spaces. */
export function readMessage(bytes: Uint8Array): WireMessage {
  try {
    return readMessageText(utf8.decode(bytes))
  } catch {
    return { text: '', envelope: notJson }
  }
}

/** {@link readMessage} for text. */
export function readMessageText(text: string): WireMessage {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { text, envelope: notJson }
  }
  return { text: text.replaceAll(/[\r\n]/g, ' '), envelope: envelopeOf(value) }
}

function envelopeOf(value: unknown): Envelope {
  if (Array.isArray(value)) return { kind: 'batch' }
  const parsed = parseJsonRpcMessage(value)
  switch (parsed.kind) {
    case 'request':
      return { kind: 'request', id: parsed.message.id, method: parsed.message.method }
    case 'notification':
      return { kind: 'notification', method: parsed.message.method }
    case 'response': {
      const { id = null } = parsed.message
      if (id === null) return { kind: 'invalid', id, reason: 'an error without the id of a request' }
      return { kind: 'response', id, isError: 'error' in parsed.message }
    }
    case 'invalid':
      return parsed
  }
}

/** The message as text. Members that are `undefined` are left out. */
export function toWireMessage(message: JsonRpcMessage): WireMessage {
  return { text: JSON.stringify(message), envelope: envelopeOf(message) }
}

/** The message as an object, with unknown members, and with numbers that {@link parseExactJson} keeps, but for its id. Throws a `TypeError` for a batch and for an invalid message. */
export function parseWireMessage(wire: WireMessage): JsonRpcMessage {
  if (wire.envelope.kind === 'batch') throw new TypeError('A batch is not a single message.')
  const value = parseExactJson(wire.text)
  const isOdd = isJsonObject(value) && isExactNumber(value['id'])
  const parsed = parseJsonRpcMessage(isOdd ? { ...value, id: plainNumber(value['id']) } : value)
  if (parsed.kind === 'invalid') throw new TypeError(`This is not a JSON-RPC message: ${parsed.reason}.`)
  return parsed.message
}

const maxDepth = 1000

/** Returns true if serializing the message could overflow the stack, because it is nested too deeply. */
export function isNestedDeeply({ text }: Pick<WireMessage, 'text'>): boolean {
  return structureOf(text).depth > maxDepth
}

/** Far more than any client or server needs; each one costs memory. */
const maxBatchLength = 10_000

/**
 * The messages of a batch (MCP 2025-03-26 only), some of which may be `invalid`. Empty if the message is not a batch, and for a
 * batch with more than 10,000 messages or nested too deeply.
 */
export function splitBatch(batch: WireMessage): WireMessage[] {
  if (batch.envelope.kind !== 'batch' || isNestedDeeply(batch)) return []
  const values = parseExactJson(batch.text) as unknown[]
  if (values.length > maxBatchLength) return []
  return values.map((value) => {
    const text = JSON.stringify(value)
    if (isJsonObject(value)) return readMessageText(text)
    return { text, envelope: { kind: 'invalid', id: null, reason: 'a message must be an object' } }
  })
}

/** The messages of a batch, or the single one. */
export function messagesIn(message: WireMessage): WireMessage[] {
  return message.envelope.kind === 'batch' ? splitBatch(message) : [message]
}

/** The ids of the requests in a message: none, one, or several in a batch. */
export function requestIds(message: WireMessage): Set<JsonRpcId> {
  const ids = new Set<JsonRpcId>()
  for (const { envelope } of messagesIn(message)) if (envelope.kind === 'request') ids.add(envelope.id)
  return ids
}

/**
 * Gives a response the id of the waiting request that it answers: some servers write a number as text, or no id in an error where only
 * one request waits. Returns every other message unchanged.
 */
export function addressed(message: WireMessage, waiting: ReadonlySet<JsonRpcId>): WireMessage {
  const { envelope } = message
  if (envelope.kind === 'response') return withId(message, waitingId(envelope.id, waiting))
  const [id] = waiting
  const isUnnamed = envelope.kind === 'invalid' && envelope.id === null
  if (!isUnnamed || id === undefined || waiting.size > 1) return message
  return errorIn(message, id) ?? message
}

/** Returns the id of a request that waits for a response with this one; the same id if none does. */
function waitingId(id: JsonRpcId, waiting: ReadonlySet<JsonRpcId>): JsonRpcId {
  if (typeof id !== 'string' || waiting.has(id) || !waiting.has(Number(id))) return id
  return String(Number(id)) === id ? Number(id) : id
}

/** Returns the error in a message, under the id of its request; undefined if it has none. */
export function errorIn(message: WireMessage, id: JsonRpcId): WireMessage | undefined {
  if (isNestedDeeply(message)) return undefined
  const error = parseExactObject(message.text)?.['error']
  if (!isJsonObject(error)) return undefined
  const { message: text, data } = error
  const code = plainNumber(error['code'])
  if (!Number.isInteger(code) || typeof text !== 'string') return undefined
  return toWireMessage(jsonRpcError(id, code as number, text, data))
}

/** Returns a response under this id. */
export function withId(response: WireMessage, id: JsonRpcId): WireMessage {
  const { envelope } = response
  if (envelope.kind !== 'response' || envelope.id === id) return response
  return toWireMessage({ ...(parseWireMessage(response) as JsonRpcResponse), id })
}
