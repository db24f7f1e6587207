import { Adapter } from '@drawbridge/shared/mcp/adapter/adapter.ts'
import { CallError, errorObject } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import type { AdapterRuntime, DescribeFailure, RequestServer } from '@drawbridge/shared/mcp/adapter/ports.ts'
import {
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
import type { RememberedServer } from '../transport/server-memory.ts'
import type { ClientInput, PendingCalls } from './client-calls.ts'
import type { ClientContext } from './pending-call.ts'

export interface AdaptedConnectionPorts {
  client: ClientInput
  pending: PendingCalls
  remembered: RememberedServer
  runtime: AdapterRuntime
  describeFailure: DescribeFailure
  /** To a server of 2026-07-28. */
  send: Send
}

/** Carries the calls of a 2025 client to a server of 2026-07-28, by the adapter. */
export class AdaptedConnection {
  readonly #adapter: Adapter
  readonly #ports: AdaptedConnectionPorts
  #isLeft = false

  /**
   * A client that has initialized before does not do so again: its `initialize` is replayed.
   */
  constructor(ports: AdaptedConnectionPorts) {
    this.#ports = ports
    const { client, pending, remembered, runtime, send } = ports
    const discovered = remembered.known()?.discoverResult
    this.#adapter = new Adapter({
      notify: (notification) => pending.unsolicited(toWireMessage(notification)),
      runtime,
      request: requestsBy(send),
      ...(discovered && { discovered }),
    })
    const { initialize, isInitialized } = client
    if (initialize === undefined || pending.get(initialize.id) !== undefined) return
    this.#adapter
      .request(parseWireMessage(initialize.message) as JsonRpcRequest, { deliver: () => {} })
      .catch(() => {})
    if (isInitialized) this.#adapter.receive({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }

  /** Resolves when the call is over; with `left` when it has to be sent to the server as it is. */
  async send(message: WireMessage, context: ClientContext): Promise<'over' | 'left'> {
    const call = parseWireMessage(message) as JsonRpcRequest
    const { id } = call
    let response: JsonRpcResponse
    try {
      const deliver = (sent: JsonRpcMessage): void | Promise<void> => context.deliver(toWireMessage(sent))
      const result = await this.#adapter.request(call, { ...context, deliver })
      response = { jsonrpc: '2.0', id, result }
    } catch (error) {
      if (context.signal?.aborted === true) return 'over'
      if (this.#isLeft) return 'left'
      response = { jsonrpc: '2.0', id, error: errorObject(error, this.#ports.describeFailure) }
    }
    await context.deliver(toWireMessage(response))
    return 'over'
  }

  /** Takes a notification or a response of the client. */
  pass(message: WireMessage): void {
    this.#adapter.receive(parseWireMessage(message))
  }

  reopen(): void {
    this.#adapter.reopen()
  }

  close(): void {
    this.#adapter.close()
  }

  /** Ends it because the server speaks 2025-11-25: its open calls are to be sent as they are. */
  leave(): void {
    this.#isLeft = true
    this.#adapter.close()
  }
}

/** Sends each request under a new id. Resolves with its result, even if the stream stays open after it. */
function requestsBy(send: Send): RequestServer {
  let lastId = 0
  return async (method, params, { signal, onMessage } = {}) => {
    lastId += 1
    const message = toWireMessage({ jsonrpc: '2.0', id: lastId, method, params })
    const answered = new Promise<JsonRpcResponse>((resolve, reject) => {
      const deliver = (wire: WireMessage): void | Promise<void> => {
        const { kind } = wire.envelope
        if (isNestedDeeply(wire))
          throw new TransportError(
            'too_large',
            'An answer of the server is nested more than 1000 levels deep.',
          )
        if (kind === 'response') return resolve(parseWireMessage(wire) as JsonRpcResponse)
        if (kind === 'request' || kind === 'notification') return onMessage?.(parseWireMessage(wire))
      }
      const ended = (): void =>
        reject(new TransportError('lost', 'The server ended the call without an answer.'))
      send(message, { deliver, ...(signal && { signal }) }).then(ended, reject)
    })
    const response = await answered.catch((failure: unknown) => {
      const body = errorResponse(failure)
      if (body === undefined) throw failure
      return body
    })
    if (!('error' in response)) return response.result
    const { code, message: text, data } = response.error
    throw new CallError(code, text, data)
  }
}
