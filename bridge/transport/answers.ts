import { plainNumber } from '@drawbridge/shared/exact-json.ts'
import { isJsonObject, parseExactObject } from '@drawbridge/shared/json-object.ts'
import { structureOf } from '@drawbridge/shared/json-structure.ts'
import {
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcResponse,
  isNestedDeeply,
  parseWireMessage,
  readMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { TransportError } from './transport.ts'

/** Arrays, objects and their members in one message. Each takes some hundred bytes of memory when it is parsed. */
const maxValues = 2_000_000

/** Reads a message of a server. Throws {@link TransportError} `too_large` where parsing it would take too much memory. */
export function readAnswer(bytes: Buffer): WireMessage {
  if (bytes.length > 2 * maxValues) {
    const { containers, members } = structureOf(bytes.toString('latin1'))
    if (containers + members > maxValues)
      throw new TransportError('too_large', 'An answer of the server has more than 2,000,000 values.')
  }
  return readMessage(bytes)
}

/**
 * Returns a message under the id of the request that it answers, if that is one of those that wait: some servers write the number of an id
 * as text, and name none in an error though only one request can be meant. Every other message is returned as it is.
 */
export function addressed(message: WireMessage, waiting: ReadonlySet<JsonRpcId>): WireMessage {
  const { envelope } = message
  if (envelope.kind === 'response') return withId(message, waitingId(envelope.id, waiting))
  const [id] = waiting
  const isUnnamed = envelope.kind === 'invalid' && envelope.id === undefined
  if (!isUnnamed || id === undefined || waiting.size > 1) return message
  return errorIn(message, id) ?? message
}

/** Returns the id of a request that waits for a response with this one; the same id if none does. */
export function waitingId(id: JsonRpcId, waiting: { has(id: JsonRpcId): boolean }): JsonRpcId {
  if (typeof id !== 'string' || waiting.has(id) || !waiting.has(Number(id))) return id
  return String(Number(id)) === id ? Number(id) : id
}

/** Returns the error that a message has, under the id of the request that it is for; undefined if it has none. */
export function errorIn(message: WireMessage, id: JsonRpcId): WireMessage | undefined {
  if (isNestedDeeply(message)) return undefined
  const error = parseExactObject(message.text)?.['error']
  if (!isJsonObject(error)) return undefined
  const { message: text, data } = error
  const code = plainNumber(error['code'])
  if (!Number.isInteger(code) || typeof text !== 'string') return undefined
  return toWireMessage(jsonRpcError(id, code as number, text, data))
}

/** Returns a response under the id of the request that it is for. */
export function withId(response: WireMessage, id: JsonRpcId): WireMessage {
  const { envelope } = response
  if (envelope.kind !== 'response' || envelope.id === id) return response
  return toWireMessage({ ...(parseWireMessage(response) as JsonRpcResponse), id })
}

interface Waiting {
  deliver(answer: WireMessage): void | Promise<void>
  resolve(): void
  reject(error: unknown): void
}

/** Requests whose responses may come on a stream of the session, instead of in the answer to their POST. */
export class PendingResponses {
  readonly #waiting = new Map<JsonRpcId, Waiting>()

  /** Resolves when the response to that request was delivered. A rejection need not be handled. */
  expect(id: JsonRpcId, deliver: Waiting['deliver']): Promise<void> {
    const answered = new Promise<void>((resolve, reject) => {
      this.#waiting.set(id, { deliver, resolve, reject })
    })
    answered.catch(() => {})
    return answered
  }

  forget(id: JsonRpcId): void {
    this.#waiting.delete(id)
  }

  /** Delivers a response; returns whether a request waited for it. */
  async take(response: WireMessage): Promise<boolean> {
    const { envelope } = response
    const id = envelope.kind === 'response' ? waitingId(envelope.id, this.#waiting) : undefined
    const waiting = id === undefined ? undefined : this.#waiting.get(id)
    if (id === undefined || waiting === undefined) return false
    this.#waiting.delete(id)
    try {
      await waiting.deliver(withId(response, id))
      waiting.resolve()
    } catch (error) {
      waiting.reject(error)
    }
    return true
  }

  /** The stream has ended: what waits is lost. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
