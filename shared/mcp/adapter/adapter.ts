import { unlessAborted } from '../../async.ts'
import { isJsonObject, type JsonObject } from '../../json-object.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../json-rpc.ts'
import { discoveredServerInfo } from '../mcp-protocol.ts'
import type { Context } from '../pipeline.ts'
import { mapServerCapabilities } from './capabilities.ts'
import type { AdapterPorts, AdapterRuntime, ClientCall } from './ports.ts'
import { ClientRequests } from './client-requests.ts'
import { toResult2025, type Revision2025 } from './result.ts'
import { completeCall } from './server-call.ts'
import { Subscriptions } from './subscriptions.ts'
import { DeclaredClient, Upstream2026 } from './upstream.ts'

/**
 * Connects a 2025 client to a 2026-07-28 server. Provides what that revision removed: `initialize`, `ping`, `logging/setLevel`,
 * subscriptions, and requests to the client. Passes unknown methods on. One per client.
 */
export class Adapter {
  readonly #clientRequests: ClientRequests
  readonly #runtime: AdapterRuntime
  readonly #declared = new DeclaredClient()
  readonly #upstream: Upstream2026
  readonly #subscriptions: Subscriptions
  readonly #closing = new AbortController()

  constructor({ discovered, notify, request, runtime }: AdapterPorts) {
    const notifyOpen = async (notification: JsonRpcNotification): Promise<void> => {
      if (!this.#closing.signal.aborted) await notify(notification)
    }
    this.#runtime = runtime
    this.#clientRequests = new ClientRequests(notifyOpen, runtime)
    this.#upstream = new Upstream2026(request, this.#declared, discovered)
    this.#subscriptions = new Subscriptions(this.#upstream, runtime, notifyOpen)
  }

  /**
   * Resolves with the result of a request. `deliver` receives what belongs to the call, and not its response. Rejects with
   * `CallError` for an error that the client should get, with any other failure as it is, and as soon as the signal is aborted or
   * the adapter is closed.
   */
  async request(
    request: JsonRpcRequest,
    { deliver, signal: outer }: Context<JsonRpcMessage>,
  ): Promise<JsonObject> {
    const signal = AbortSignal.any([this.#closing.signal, ...(outer === undefined ? [] : [outer])])
    signal.throwIfAborted()
    let isOver = false
    const deliverOpen = async (message: JsonRpcMessage): Promise<void> => {
      if (!isOver) await deliver(message)
    }
    const answered = this.#resultOf({ request, signal, deliver: deliverOpen })
    return unlessAborted(answered, signal).finally(() => (isOver = true))
  }

  /** Takes a notification or a response of the client. A cancellation aborts the signal of its request instead. */
  receive(message: JsonRpcNotification | JsonRpcResponse): void {
    if (!('method' in message)) this.#clientRequests.onResponse(message)
    // A 2026-07-28 client sends no other notification.
    else if (message.method === 'notifications/initialized') this.#subscriptions.start()
  }

  /** Reopens the streams that the adapter keeps open: their connection may be dead unnoticed. */
  reopen(): void {
    this.#subscriptions.reopen()
  }

  /** Ends all calls and streams. */
  close(): void {
    this.#closing.abort()
    this.#subscriptions.close()
  }

  async #resultOf(call: ClientCall): Promise<JsonObject> {
    const { method, params } = call.request
    switch (method) {
      case 'initialize':
        this.#declared.initialize(params)
        return toInitializeResult(this.#declared.revision, await this.#upstream.discover())
      case 'ping':
        return {}
      case 'logging/setLevel':
        this.#declared.setLogLevel(params?.['level'])
        return {}
      case 'resources/subscribe':
        return this.#subscriptions.subscribe(params?.['uri'])
      case 'resources/unsubscribe':
        return this.#subscriptions.unsubscribe(params?.['uri'])
    }
    const result = await completeCall(call, {
      upstream: this.#upstream,
      clientRequests: this.#clientRequests,
      runtime: this.#runtime,
      clientCapabilities: this.#declared.capabilities,
    })
    return toResult2025(method, result, this.#declared.revision)
  }
}

/** The result of `initialize`, made from the result of `server/discover`. */
function toInitializeResult(protocolVersion: Revision2025, discovered: JsonObject): JsonObject {
  const { capabilities, instructions } = discovered
  const info = discoveredServerInfo(discovered)
  return {
    protocolVersion,
    capabilities: mapServerCapabilities(capabilities),
    serverInfo: { name: 'unknown', version: '0', ...(isJsonObject(info) && info) },
    ...(typeof instructions === 'string' && { instructions }),
  }
}
