import { createSignal } from '@drawbridge/shared/async.ts'
import { parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { createAdapterFrom2025To2026 } from '@drawbridge/shared/mcp/adapter/2025-to-2026/adapter.ts'
import { createAdapterFrom2026To2025 } from '@drawbridge/shared/mcp/adapter/2026-to-2025/adapter.ts'
import type {
  Adapter,
  AdapterPorts,
  ClientPort,
  RequestOptions,
  Server2025,
  Session2025,
} from '@drawbridge/shared/mcp/adapter/ports.ts'
import {
  parseJsonRpcMessage,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type JsonRpcResponse,
  isNestedDeeply,
  parseWireMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { unheard, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { withoutSignInState } from '../sign-in/authorization-prompt.ts'
import { TransportError } from '../transport/transport.ts'
import type { CallCarrier, ClientContext, PendingCall } from './client-calls.ts'
import type { ServerConnection } from './server-connections.ts'
import type { RevisionPorts } from './server-revision.ts'

export interface AdaptedConnectionPorts extends RevisionPorts {
  /** Sends to a server of that revision, and throws when what comes back refutes that it speaks it. */
  judged(server: ServerConnection): Send
}

/** Carries calls to a server of the other revision, by the adapter. */
export class AdaptedConnection implements CallCarrier {
  readonly adapter: Adapter
  readonly keepsSubscriptions = true
  readonly #ports: AdaptedConnectionPorts
  readonly #contexts = new Map<JsonRpcId, ClientContext>()
  readonly #left = createSignal()
  #isVoid = false

  /** `to`: the revision of the server. */
  constructor(to: McpEra, ports: AdaptedConnectionPorts) {
    this.#ports = ports
    this.adapter = to === 'modern' ? this.#from2025To2026() : this.#from2026To2025()
  }

  get isCarrying(): boolean {
    return this.#contexts.size > 0
  }

  /** Resolves when the call is over; with `left` when another connection has to carry it. */
  async send(message: WireMessage, context: ClientContext, call: PendingCall): Promise<'over' | 'left'> {
    this.#contexts.set(call.id, context)
    void this.adapter.receive(withoutSignInState(parseWireMessage(message)))
    await Promise.race([call.answered, this.#left.given])
    if (this.#contexts.get(call.id) === context) this.#contexts.delete(call.id)
    return this.#isVoid && context.signal?.aborted !== true ? 'left' : 'over'
  }

  pass(message: WireMessage): void {
    void this.adapter.receive(parseWireMessage(message))
  }

  async cancel(notice: WireMessage): Promise<void> {
    this.pass(notice)
  }

  drop({ id: requestId }: PendingCall): void {
    this.#contexts.delete(requestId)
    void this.adapter.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
  }

  /** The server turned out to speak another revision: what the adapter still says is dropped. */
  leave(): void {
    this.#isVoid = true
    this.#left.give()
    void this.adapter.close()
  }

  /** A client that has initialized before does not do so again: its `initialize` is replayed. */
  #from2025To2026(): Adapter {
    const { client, pending, remembered, servers } = this.#ports
    const discovered = remembered.known()?.discoverResult
    const send = this.#ports.judged(servers.of('modern'))
    const adapter = createAdapterFrom2025To2026({
      ...this.#adapterPorts(),
      server: { request: (message, options) => request(send, message, options), errorResponse },
      ...(discovered && { discovered }),
    })
    const { initialize, isInitialized } = client
    if (initialize === undefined || pending.get(initialize.id) !== undefined) return adapter
    void adapter.receive(parseWireMessage(initialize.message))
    if (isInitialized) void adapter.receive(initialized)
    return adapter
  }

  #from2026To2025(): Adapter {
    const open: Server2025['open'] = (params, onMessage) => this.#openSession(params, onMessage)
    const { warn } = this.#ports
    return createAdapterFrom2026To2025({ ...this.#adapterPorts(), warn, server: { open, errorResponse } })
  }

  #adapterPorts(): AdapterPorts {
    const { describeFailure, runtime } = this.#ports
    const client: ClientPort = { send: (message, relatedTo) => this.#answer(message, relatedTo) }
    return { client, describeFailure, runtime }
  }

  async #answer(message: JsonRpcMessage, relatedTo: JsonRpcId | undefined): Promise<void> {
    if (this.#isVoid) return
    const wire = toWireMessage(message)
    const { envelope } = wire
    const id = envelope.kind === 'response' ? envelope.id : relatedTo
    const context = id === undefined ? undefined : this.#contexts.get(id)
    if (context !== undefined) await context.deliver(wire)
    else if (envelope.kind !== 'response') await this.#ports.pending.unsolicited(wire)
  }

  /** Opens a session. An error as the answer to `initialize` is thrown as a `TransportError` that has it as its `response`. */
  async #openSession(params: JsonObject, onMessage: Parameters<Server2025['open']>[1]): Promise<Session2025> {
    const server = this.#ports.servers.session((message) => takeUnsolicited(message, onMessage))
    const send = this.#ports.judged(server)
    const notify = (message: JsonRpcMessage): Promise<void> => send(toWireMessage(message), unheard)
    try {
      const initialize = { jsonrpc: '2.0' as const, id: this.#ports.randomId(), method: 'initialize', params }
      const answer = await request(send, initialize)
      if ('error' in answer)
        throw new TransportError('refused', answer.error.message, { response: toWireMessage(answer) })
      await notify(initialized)
      return {
        initialized: answer.result as JsonObject,
        request: (message, options) => request(send, message, options),
        notify,
        answer: notify,
        close: () => server.close(closeGraceMs),
      }
    } catch (error) {
      await server.close(0)
      throw error
    }
  }
}

const closeGraceMs = 500

const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const

/** Takes the JSON-RPC error that a server sent as the body of a 4xx; undefined if something else failed. */
export function errorResponse(failure: unknown): JsonRpcResponse | undefined {
  if (!(failure instanceof TransportError) || failure.response === undefined) return undefined
  // Signing in settles 401 and 403, whatever their body says.
  if (failure.fault !== 'refused' && failure.fault !== 'not_found') return undefined
  const parsed = parseJsonRpcMessage(parseJsonObject(failure.response.text))
  return parsed.kind === 'response' && 'error' in parsed.message ? parsed.message : undefined
}

/** Resolves at the response, even if the stream stays open after it. */
function request(
  send: Send,
  message: JsonRpcRequest,
  options: RequestOptions = {},
): Promise<JsonRpcResponse> {
  const { signal, onMessage } = options
  return new Promise((resolve, reject) => {
    const deliver = (wire: WireMessage): void | Promise<void> => {
      const { kind } = wire.envelope
      if (isNestedDeeply(wire))
        throw new TransportError('too_large', 'An answer of the server is nested more than 1000 levels deep.')
      if (kind === 'response') return resolve(parseWireMessage(wire) as JsonRpcResponse)
      if (kind === 'request' || kind === 'notification') return onMessage?.(parseWireMessage(wire))
    }
    const ended = (): void =>
      reject(new TransportError('lost', 'The server ended the call without an answer.'))
    send(toWireMessage(message), { deliver, ...(signal && { signal }) }).then(ended, reject)
  })
}

function takeUnsolicited(
  message: WireMessage,
  onMessage: Parameters<Server2025['open']>[1],
): void | Promise<void> {
  const { kind } = message.envelope
  const isWanted = kind === 'request' || kind === 'notification'
  if (isWanted && !isNestedDeeply(message)) return onMessage(parseWireMessage(message))
}
