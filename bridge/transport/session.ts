import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  addressed,
  jsonRpcCode,
  parseWireMessage,
  toWireMessage,
  type JsonRpcId,
  type JsonRpcRequest,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { intercepted, type Context } from '@drawbridge/shared/mcp/pipeline.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { HttpResponse } from '../http/http-client.ts'
import type { RefusedPost } from './failed-response.ts'
import { errorCode } from './revision-detection.ts'

/** One session of a server. A new session is a new object: that is how a request knows that its session is over. */
export interface Session {
  /** Undefined at a server without sessions. */
  id: string | undefined
  /** Headers of each request in the session. */
  headers: Readonly<Record<string, string>>
}

/** Before `initialize`, and for it. */
export const noSession: Session = { id: undefined, headers: {} }

/**
 * Returns whether the session id of the response, if it has one, can go back as it came: headers have no encoding, so it must be ASCII
 * (MCP 2025-11-25 transports, session management, allows no more than visible characters).
 */
export function hasUsableSessionId({ headers }: HttpResponse): boolean {
  const id = headers['mcp-session-id']
  return typeof id !== 'string' || /^[\t\x20-\x7e]*$/.test(id)
}

/** The session that a server opened with its answer to `initialize`. */
export function openedSession(response: HttpResponse, answer: WireMessage | undefined): Session {
  const header = response.headers['mcp-session-id']
  const id = typeof header === 'string' && header !== '' ? header : undefined
  const result = answer && parseJsonObject(answer.text)?.['result']
  const version = isJsonObject(result) ? result['protocolVersion'] : undefined
  // Reject values that are not valid HTTP tokens: they could not be sent back.
  const revision = typeof version === 'string' && /^[\w.-]{1,64}$/.test(version) ? version : undefined
  const headers = {
    ...(id !== undefined && { [mcpHeader.sessionId]: id }),
    ...(revision !== undefined && { [mcpHeader.protocolVersion]: revision }),
  }
  return { id, headers }
}

/**
 * Returns whether the server does not know the session any more: 404, or a 400 that speaks of the session, as some servers have it.
 * A 404 that is the answer to an unknown method is none.
 */
export function isSessionLost(refused: RefusedPost, used: Session): boolean {
  if (used.id === undefined) return false
  if (refused.status === 400) return /session/i.test(refused.text)
  return refused.status === 404 && errorCode(refused.answer) !== jsonRpcCode.methodNotFound
}

/** The methods whose results tell something that has to be remembered. */
const stateMethods: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tools/list',
])

/** Remembers what to say again to a server that lost a session. Replayed messages have ids of their own. */
export class SessionState {
  readonly #answered: (request: WireMessage, answer: WireMessage) => void
  #initialize: JsonRpcRequest | undefined
  #level: JsonRpcRequest | undefined
  readonly #subscriptions = new Map<unknown, JsonRpcRequest>()
  #replays = 0

  /** `answered` is told of results in which the server says something of itself. */
  constructor(answered: (request: WireMessage, answer: WireMessage) => void) {
    this.#answered = answered
  }

  /** Returns the context of a request, with its result recorded. */
  recording<C extends Context>(message: WireMessage, context: C): C {
    const { envelope } = message
    if (envelope.kind !== 'request' || !stateMethods.has(envelope.method)) return context
    return intercepted(context, (answer, deliver) => {
      if (answer.envelope.kind === 'response' && !answer.envelope.isError) this.accepted(message, answer)
      return deliver(answer)
    })
  }

  /** Records what the server has accepted. */
  accepted(wire: WireMessage, answer: WireMessage): void {
    const request = parseWireMessage(wire) as JsonRpcRequest
    const uri = request.params?.['uri']
    switch (request.method) {
      case 'initialize':
        this.#initialize = request
        return this.#answered(wire, answer)
      case 'tools/list':
        return this.#answered(wire, answer)
      case 'logging/setLevel':
        this.#level = request
        return
      case 'resources/subscribe':
        this.#subscriptions.set(uri, request)
        return
      default:
        this.#subscriptions.delete(uri)
    }
  }

  /** Forgets log level and subscriptions: the client starts anew. */
  restart(): void {
    this.#level = undefined
    this.#subscriptions.clear()
  }

  /** Returns what opens a session; undefined as long as the client has not opened one. */
  opening(): { initialize: WireMessage; initialized: WireMessage } | undefined {
    if (this.#initialize === undefined) return undefined
    const initialized = toWireMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return { initialize: this.#again(this.#initialize), initialized }
  }

  /** Returns what sets log level and subscriptions again. */
  choices(): WireMessage[] {
    const requests = [...(this.#level === undefined ? [] : [this.#level]), ...this.#subscriptions.values()]
    return requests.map((request) => this.#again(request))
  }

  #again(request: JsonRpcRequest): WireMessage {
    this.#replays += 1
    return toWireMessage({ ...request, id: `drawbridge-replay-${this.#replays}` })
  }
}

interface Waiting {
  /** The response can come on no other stream. */
  isOnlyHere: boolean
  /** An error without an id, which is the response unless another one comes for the POST. */
  unnamed?: WireMessage
  deliver(answer: WireMessage): void | Promise<void>
  resolve(): void
  reject(error: unknown): void
}

/** Requests whose responses may come on a stream of the session, instead of in the answer to their POST. */
export class PendingResponses {
  readonly #waiting = new Map<JsonRpcId, Waiting>()

  /** Resolves when the response to that request was delivered. A rejection need not be handled. */
  expect(id: JsonRpcId, deliver: Waiting['deliver'], isOnlyHere = false): Promise<void> {
    const answered = new Promise<void>((resolve, reject) => {
      this.#waiting.set(id, { isOnlyHere, deliver, resolve, reject })
    })
    answered.catch(() => {})
    return answered
  }

  /** The POST of a request has ended without a response. */
  expectOnlyHere(id: JsonRpcId): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    waiting.isOnlyHere = true
    if (waiting.unnamed) void this.take(waiting.unnamed)
  }

  forget(id: JsonRpcId): void {
    this.#waiting.delete(id)
  }

  /** Delivers a response, or an error without an id if one request alone waits; returns whether the message was for a request. */
  async take(message: WireMessage): Promise<boolean> {
    const { kind } = message.envelope
    if (kind === 'request' || kind === 'notification') return false
    const response = addressed(message, new Set(this.#waiting.keys()))
    const { envelope } = response
    const waiting = envelope.kind === 'response' ? this.#waiting.get(envelope.id) : undefined
    if (envelope.kind !== 'response' || waiting === undefined) return false
    if (kind === 'invalid' && !waiting.isOnlyHere) {
      waiting.unnamed = response
      return true
    }
    this.#waiting.delete(envelope.id)
    const delivering = async (): Promise<void> => waiting.deliver(response)
    await delivering().then(waiting.resolve, waiting.reject)
    return true
  }

  /** The stream has ended: what waits is lost. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
