import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { HttpResponse } from '../http/http-client.ts'
import type { RefusedPost } from './response-body.ts'

/** One session of a server. A new session is a new object: that is how a request knows that its session is over. */
export interface Session {
  /** Undefined at a server without sessions. */
  id: string | undefined
  /** What was agreed on; undefined before `initialize`. */
  revision: string | undefined
  /** Headers of each request in the session. */
  headers: Readonly<Record<string, string>>
}

/** Before `initialize`, and for it. */
export const noSession: Session = { id: undefined, revision: undefined, headers: {} }

/**
 * Whether the session id of the response, if it has one, can go back as it came: headers have no encoding, so it must be ASCII
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
  return { id, revision, headers }
}

/**
 * Whether the server does not know the session any more: 404, or a 400 that speaks of the session, as some servers have it.
 * A 404 that is the answer to an unknown method is none.
 */
export function isSessionLost(refused: RefusedPost, used: Session): boolean {
  if (used.id === undefined) return false
  if (refused.status === 400) return /session/i.test(refused.text)
  return refused.status === 404 && !isUnknownMethod(refused.answer)
}

function isUnknownMethod(answer: WireMessage | undefined): boolean {
  const error = answer && parseJsonObject(answer.text)?.['error']
  return isJsonObject(error) && error['code'] === jsonRpcCode.methodNotFound
}

const stateMethods: ReadonlySet<string> = new Set([
  'initialize',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** What has to be said again to a server that lost a session. Replayed messages have ids of their own. */
export class SessionState {
  #initialize: JsonRpcRequest | undefined
  #level: JsonRpcRequest | undefined
  readonly #subscriptions = new Map<unknown, JsonRpcRequest>()
  #replays = 0

  /** Whether {@link SessionState.accepted} does something with such messages. */
  concerns({ envelope }: WireMessage): boolean {
    return envelope.kind === 'request' && stateMethods.has(envelope.method)
  }

  /** Records what the server has accepted. */
  accepted(wire: WireMessage): void {
    const message = parseWireMessage(wire)
    if (!('method' in message) || !('id' in message)) return
    const uri = message.params?.['uri']
    if (message.method === 'initialize') this.#initialize = message
    else if (message.method === 'logging/setLevel') this.#level = message
    else if (message.method === 'resources/subscribe') this.#subscriptions.set(uri, message)
    else if (message.method === 'resources/unsubscribe') this.#subscriptions.delete(uri)
  }

  /** The options of a request, with its acceptance recorded. */
  recording<Options extends { deliver(answer: WireMessage): void | Promise<void> }>(
    message: WireMessage,
    options: Options,
  ): Options {
    if (!this.concerns(message)) return options
    const deliver = (answer: WireMessage): void | Promise<void> => {
      if (answer.envelope.kind === 'response' && !answer.envelope.isError) this.accepted(message)
      return options.deliver(answer)
    }
    return { ...options, deliver }
  }

  /** Forgets log level and subscriptions: the client starts anew. */
  restart(): void {
    this.#level = undefined
    this.#subscriptions.clear()
  }

  /** What opens a session. Undefined as long as the client has not opened one. */
  opening(): { initialize: WireMessage; initialized: WireMessage } | undefined {
    if (this.#initialize === undefined) return undefined
    const initialized = toWireMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return { initialize: this.#again(this.#initialize), initialized }
  }

  /** Log level and subscriptions. */
  choices(): WireMessage[] {
    const requests = [...(this.#level === undefined ? [] : [this.#level]), ...this.#subscriptions.values()]
    return requests.map((request) => this.#again(request))
  }

  #again(request: JsonRpcRequest): WireMessage {
    this.#replays += 1
    return toWireMessage({ ...request, id: `drawbridge-replay-${this.#replays}` })
  }
}
