import { isDeeperThan } from '../json-structure.ts'
import { isJsonObject } from '../json-object.ts'
import { type JsonRpcId, type JsonRpcMessage, parseJsonRpcMessage } from './json-rpc.ts'

/** The kind of a message, by its outermost members. `invalid`: not a message, or not valid on its own. */
export type Envelope =
  | { kind: 'request'; id: JsonRpcId; method: string }
  | { kind: 'notification'; method: string }
  | { kind: 'response'; id: JsonRpcId; isError: boolean }
  /** Only 2025-03-26 has batches. */
  | { kind: 'batch' }
  | { kind: 'invalid'; id: JsonRpcId | undefined; reason: string }

/** A message to pass on unchanged: JSON without line breaks, so that it can be a line of stdio. */
export interface WireMessage {
  text: string
  envelope: Envelope
  /** The HTTP status of a response that arrived in the body of an error; undefined otherwise. */
  status?: number
  /** The bridge made it for a server that requires a sign-in, so it is no evidence about the server. */
  isStandIn?: true
}

/** The `reason` of an invalid envelope that is a parse error in JSON-RPC (-32700); any other is an invalid request. */
export const notJsonReason = 'not valid JSON in UTF-8'

const notJson: Envelope = { kind: 'invalid', id: undefined, reason: notJsonReason }

// Keep a byte order mark, because JSON must not begin with one.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads the message in a line, a body or an event. Line breaks, which JSON has only between its tokens, become spaces. */
export function readMessage(bytes: Uint8Array): WireMessage {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return { text: '', envelope: notJson }
  }
  return readMessageText(text)
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
      const { id } = parsed.message
      if (id === undefined || id === null)
        return { kind: 'invalid', id: undefined, reason: 'an error without the id of a request' }
      return { kind: 'response', id, isError: 'error' in parsed.message }
    }
    case 'invalid':
      return { kind: 'invalid', id: parsed.id ?? undefined, reason: parsed.reason }
  }
}

/** The message as text. Members that are `undefined` are left out. */
export function toWireMessage(message: JsonRpcMessage): WireMessage {
  return { text: JSON.stringify(message), envelope: envelopeOf(message) }
}

/** The message as an object, with unknown members. Throws a `TypeError` for a batch and for an invalid message. */
export function parseWireMessage(wire: WireMessage): JsonRpcMessage {
  if (wire.envelope.kind === 'batch') throw new TypeError('A batch is not a single message.')
  const parsed = parseJsonRpcMessage(JSON.parse(wire.text))
  if (parsed.kind === 'invalid') throw new TypeError(`This is not a JSON-RPC message: ${parsed.reason}.`)
  return parsed.message
}

const maxDepth = 1000

/** Whether objects and arrays are nested so deeply that serializing the message could overflow the stack. */
export function isNestedDeeply({ text }: Pick<WireMessage, 'text'>): boolean {
  return isDeeperThan(maxDepth, text)
}

/** Far more than any client or server needs; each one costs memory. */
const maxBatchLength = 10_000

/**
 * The messages of a batch (MCP 2025-03-26 only), some of which may be `invalid`. Empty if the message is not a batch, and for a
 * batch with more than 10,000 messages.
 */
export function splitBatch(batch: WireMessage): WireMessage[] {
  if (batch.envelope.kind !== 'batch') return []
  const values = JSON.parse(batch.text) as unknown[]
  if (values.length > maxBatchLength) return []
  return values.map((value) => ({
    text: JSON.stringify(value),
    envelope: isJsonObject(value)
      ? envelopeOf(value)
      : { kind: 'invalid', id: undefined, reason: 'a message must be an object' },
  }))
}

/** The ids of the requests in a message: none, one, or several in a batch. */
export function requestIds(message: WireMessage): Set<JsonRpcId> {
  const messages = message.envelope.kind === 'batch' ? splitBatch(message) : [message]
  const ids = new Set<JsonRpcId>()
  for (const { envelope } of messages) if (envelope.kind === 'request') ids.add(envelope.id)
  return ids
}
