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
import { TransportError } from './transport.ts'

/** One session of a server. A new session is a new object, so requests notice that theirs is over. */
export interface Session {
  /** Undefined if the server has no sessions. */
  id: string | undefined
  /** Headers of each request in the session. */
  headers: Readonly<Record<string, string>>
}

/** Used before and for `initialize`. */
export const noSession: Session = { id: undefined, headers: {} }

/**
 * Returns the session that a server opened with its response to `initialize`. Throws {@link TransportError} `refused` for an id that
 * could not be sent back unchanged: it must be ASCII, since headers have no encoding (MCP 2025-11-25 transports, session management,
 * allows visible characters only).
 */
export function openedSession(
  response: Pick<HttpResponse, 'status' | 'headers'>,
  answer: WireMessage | undefined,
): Session {
  const header = response.headers['mcp-session-id']
  const id = typeof header === 'string' && header !== '' ? header : undefined
  if (id !== undefined && !/^[\t\x20-\x7e]*$/.test(id)) {
    const message = 'The server names its session with characters that no header may have.'
    throw new TransportError('refused', message, { status: response.status })
  }
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
 * Returns whether the server no longer knows the session: 404, or from some servers a 400 that mentions the session. A 404 for an
 * unknown method does not count.
 */
export function isSessionLost(refused: RefusedPost, used: Session): boolean {
  if (used.id === undefined) return false
  if (refused.status === 400) return /session/i.test(refused.text)
  return refused.status === 404 && errorCode(refused.answer) !== jsonRpcCode.methodNotFound
}

/** Remembers the messages to replay to a server that lost a session. Replayed messages have new ids. */
export class SessionState {
  readonly #answered: (request: WireMessage, answer: WireMessage) => void
  #initialize: WireMessage | undefined
  /** The log level and the subscriptions. */
  readonly #choices = new Map<unknown, WireMessage>()
  #replays = 0

  /** `answered` receives results in which the server describes itself. */
  constructor(answered: (request: WireMessage, answer: WireMessage) => void) {
    this.#answered = answered
  }

  /** Returns a context that records the result of a request. */
  recording<C extends Context>(message: WireMessage, context: C): C {
    const { envelope } = message
    if (envelope.kind !== 'request') return context
    return intercepted(context, (answer, deliver) => {
      if (answer.envelope.kind === 'response' && !answer.envelope.isError) this.accepted(message, answer)
      return deliver(answer)
    })
  }

  /** Records an accepted request. */
  accepted(wire: WireMessage, answer: WireMessage): void {
    const { envelope } = wire
    if (envelope.kind !== 'request') return
    switch (envelope.method) {
      case 'initialize':
        this.#initialize = wire
        return this.#answered(wire, answer)
      case 'tools/list':
        return this.#answered(wire, answer)
      case 'logging/setLevel':
        return void this.#choices.set(envelope.method, wire)
      case 'resources/subscribe':
        return void this.#choices.set(uriIn(wire), wire)
      case 'resources/unsubscribe':
        return void this.#choices.delete(uriIn(wire))
    }
  }

  /** Forgets log level and subscriptions: the client starts over. */
  restart(): void {
    this.#choices.clear()
  }

  /** Returns the messages that open a session; undefined before the client has opened one. */
  opening(): { initialize: WireMessage; initialized: WireMessage } | undefined {
    if (this.#initialize === undefined) return undefined
    const initialized = toWireMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return { initialize: this.#again(this.#initialize), initialized }
  }

  /** Returns the requests that restore log level and subscriptions. */
  choices(): WireMessage[] {
    return [...this.#choices.values()].map((request) => this.#again(request))
  }

  #again(request: WireMessage): WireMessage {
    this.#replays += 1
    return toWireMessage({
      ...(parseWireMessage(request) as JsonRpcRequest),
      id: `drawbridge-replay-${this.#replays}`,
    })
  }
}

function uriIn(request: WireMessage): unknown {
  return (parseWireMessage(request) as JsonRpcRequest).params?.['uri']
}

interface Waiting {
  /** The POST may still bring the response, so an error without an id may be about something else. */
  hasPost: boolean
  /** That error: the response, if the POST ends without one. */
  unnamed?: WireMessage
  deliver(answer: WireMessage): void | Promise<void>
  resolve(): void
  reject(error: unknown): void
}

/** Requests whose responses may arrive on the session's stream instead of in the response to their POST. */
export class PendingResponses {
  readonly #waiting = new Map<JsonRpcId, Waiting>()

  /**
   * `answered` resolves when the response to this request has been delivered, and may be left to reject unhandled. With `hasPost` call
   * `postOver` when the POST has ended without it.
   */
  expect(
    id: JsonRpcId,
    deliver: Waiting['deliver'],
    hasPost = false,
  ): { answered: Promise<void>; postOver(): void; forget(): void } {
    let waiting: Waiting | undefined
    const answered = new Promise<void>((resolve, reject) => {
      waiting = { hasPost, deliver, resolve, reject }
      this.#waiting.set(id, waiting)
    })
    answered.catch(() => {})
    // The same call may be waiting again, on another connection.
    const forget = (): void => void (this.#waiting.get(id) === waiting && this.#waiting.delete(id))
    const postOver = (): void => {
      if (!waiting) return
      waiting.hasPost = false
      if (waiting.unnamed) void this.take(waiting.unnamed)
    }
    return { answered, postOver, forget }
  }

  /** Delivers a response, or an error without an id if only one request waits. Returns whether it was for a request. */
  async take(message: WireMessage): Promise<boolean> {
    const { kind } = message.envelope
    if (kind === 'request' || kind === 'notification') return false
    const response = addressed(message, new Set(this.#waiting.keys()))
    const { envelope } = response
    const waiting = envelope.kind === 'response' ? this.#waiting.get(envelope.id) : undefined
    if (envelope.kind !== 'response' || waiting === undefined) return false
    if (kind === 'invalid' && waiting.hasPost) {
      waiting.unnamed = response
      return true
    }
    this.#waiting.delete(envelope.id)
    const delivering = async (): Promise<void> => waiting.deliver(response)
    await delivering().then(waiting.resolve, waiting.reject)
    return true
  }

  /** Fails all waiting requests: their stream has ended. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
