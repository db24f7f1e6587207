import { createSignal } from '@drawbridge/shared/async.ts'
import { createAdapter } from '@drawbridge/shared/mcp/adapter/adapter.ts'
import type { Adapter, RequestOptions } from '@drawbridge/shared/mcp/adapter/ports.ts'
import {
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type JsonRpcResponse,
  isNestedDeeply,
  parseWireMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { errorResponse } from '../transport/failed-response.ts'
import { TransportError } from '../transport/transport.ts'
import type { CallCarrier, ClientContext, PendingCall } from './pending-call.ts'
import type { RevisionPorts } from './server-revision.ts'

/** Carries the calls of a 2025 client to a server of 2026-07-28, by the adapter. */
export class AdaptedConnection implements CallCarrier {
  readonly adapter: Adapter
  readonly #ports: RevisionPorts
  readonly #contexts = new Map<JsonRpcId, ClientContext>()
  readonly #left = createSignal()
  #isLeft = false

  /**
   * `send` is for a server of 2026-07-28. A client that has initialized before does not do so again: its `initialize` is replayed.
   */
  constructor(ports: RevisionPorts & { send: Send }) {
    this.#ports = ports
    const { client, describeFailure, pending, remembered, runtime, send } = ports
    const discovered = remembered.known()?.discoverResult
    this.adapter = createAdapter({
      client: { send: (message, relatedTo) => this.#deliver(message, relatedTo) },
      describeFailure,
      runtime,
      server: { request: (message, options) => request(send, message, options), errorResponse },
      ...(discovered && { discovered }),
    })
    const { initialize, isInitialized } = client
    if (initialize === undefined || pending.get(initialize.id) !== undefined) return
    this.pass(initialize.message)
    if (isInitialized) void this.adapter.receive(initialized)
  }

  /** Resolves when the call is over; with `left` when it has to be sent to the server as it is. */
  async send(message: WireMessage, context: ClientContext, call: PendingCall): Promise<'over' | 'left'> {
    this.#contexts.set(call.id, context)
    this.pass(message)
    await Promise.race([call.answered, this.#left.given])
    if (this.#contexts.get(call.id) === context) this.#contexts.delete(call.id)
    return this.#isLeft && context.signal?.aborted !== true ? 'left' : 'over'
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

  /** Ends it because the server speaks 2025-11-25. Drops what the adapter still sends. */
  leave(): void {
    this.#isLeft = true
    this.#left.give()
    void this.adapter.close()
  }

  async #deliver(message: JsonRpcMessage, relatedTo: JsonRpcId | undefined): Promise<void> {
    if (this.#isLeft) return
    const wire = toWireMessage(message)
    const { envelope } = wire
    const id = envelope.kind === 'response' ? envelope.id : relatedTo
    const context = id === undefined ? undefined : this.#contexts.get(id)
    if (context !== undefined) await context.deliver(wire)
    else if (envelope.kind !== 'response') await this.#ports.pending.unsolicited(wire)
  }
}

const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' } as const

/** Resolves with the response, even if the stream stays open after it. */
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
