import { isJsonObject, type JsonObject } from '../../json-object.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest } from '../json-rpc.ts'
import { discoveredServerInfo } from '../mcp-protocol.ts'
import { errorObject } from './call-error.ts'
import { mapServerCapabilities } from './capabilities.ts'
import { ClientCalls, type ClientCall } from './client-calls.ts'
import type { Adapter, AdapterPorts } from './ports.ts'
import { ClientRequests } from './client-requests.ts'
import { toResult2025, type Revision2025 } from './result.ts'
import { completeCall } from './server-call.ts'
import { Subscriptions } from './subscriptions.ts'
import { DeclaredClient, Upstream2026 } from './upstream.ts'

/**
 * Connects a 2025 client to a 2026-07-28 server. Provides what that revision removed: `initialize`, `ping`, `logging/setLevel`,
 * subscriptions, and requests to the client. Passes unknown methods on.
 */
export function createAdapter(ports: AdapterPorts): Adapter {
  return new RevisionAdapter(ports)
}

class RevisionAdapter implements Adapter {
  readonly #ports: AdapterPorts
  readonly #calls: ClientCalls
  readonly #clientRequests: ClientRequests
  readonly #declared = new DeclaredClient()
  readonly #upstream: Upstream2026
  readonly #subscriptions: Subscriptions

  constructor(ports: AdapterPorts) {
    const { client, server, runtime, discovered } = ports
    this.#ports = ports
    this.#calls = new ClientCalls(client)
    this.#clientRequests = new ClientRequests(client, runtime)
    this.#upstream = new Upstream2026(server, this.#declared, discovered)
    this.#subscriptions = new Subscriptions(this.#upstream, runtime, (notification) =>
      this.#calls.notify(notification),
    )
  }

  async receive(message: JsonRpcMessage): Promise<void> {
    if (!('method' in message)) this.#clientRequests.onResponse(message)
    else if (!('id' in message)) this.#onNotification(message)
    else {
      const call = this.#calls.begin(message)
      if (call !== undefined) void this.#serve(call)
    }
  }

  reopen(): void {
    this.#subscriptions.reopen()
  }

  async close(): Promise<void> {
    this.#clientRequests.close()
    this.#subscriptions.close()
    this.#calls.close()
  }

  #onNotification({ method, params }: JsonRpcNotification): void {
    if (method === 'notifications/cancelled') this.#calls.cancel(params?.['requestId'])
    // A 2026-07-28 client sends no other notification.
    else if (method === 'notifications/initialized') this.#subscriptions.start()
  }

  async #serve(call: ClientCall): Promise<void> {
    try {
      await call.answer(await this.#resultOf(call))
    } catch (error) {
      if (call.isOpen()) await call.fail(errorObject(error, this.#ports.describeFailure))
    }
  }

  async #resultOf(call: ClientCall): Promise<JsonObject> {
    const { method, params } = call.request
    switch (method) {
      case 'initialize':
        return this.#initialize(call.request)
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
      runtime: this.#ports.runtime,
      clientCapabilities: () => this.#declared.capabilities,
    })
    return toResult2025(method, result, this.#declared.revision)
  }

  async #initialize({ params }: JsonRpcRequest): Promise<JsonObject> {
    this.#declared.initialize(params)
    const { revision } = this.#declared
    return toInitializeResult(revision, await this.#upstream.discover())
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
