import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { createAdapterFrom2025To2026 } from '@drawbridge/shared/mcp/adapter/2025-to-2026/adapter.ts'
import { CallError, errorObject } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import type { AdapterRuntime, ClientPort, RequestOptions } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { readSubscriptionFilter } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import {
  jsonRpcError,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { legacyRevisions, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import type { ServingContext } from '../endpoint-config.ts'
import type { ChangeListener } from '../subscriptions.ts'
import { describeFailure } from './process/process-connection.ts'
import type { ProcessSlot } from './process-slot.ts'

/** Takes the messages of one client to the process, and back. */
export interface Hop {
  /** `signal` is aborted when the client no longer waits for the response. */
  receive(message: JsonRpcMessage, signal?: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** The {@link Hop} of a client that speaks 2026-07-28, or an earlier revision in a session or without one. */
export function openHop(kind: ServingContext['kind'], client: ClientPort, slot: ProcessSlot): Hop {
  const isAdapted = slot.greeted.era === 'modern' && kind !== '2026-07-28'
  return isAdapted ? adapt2025(client, slot) : new SameRevision(client, slot, kind === 'session')
}

function adapt2025(client: ClientPort, slot: ProcessSlot): Hop {
  return createAdapterFrom2025To2026({
    client,
    server: {
      errorResponse: () => undefined,
      request: (message, options) =>
        message.method === 'subscriptions/listen'
          ? listen(message, slot, options)
          : respond(message, slot, options),
    },
    discovered: slot.greeted.presentation,
    describeFailure,
    runtime: adapterRuntime(slot),
  })
}

/** The response of the process to a request of an adapter: its error is one too. */
async function respond(
  { id, method, params = {} }: JsonRpcRequest,
  slot: ProcessSlot,
  { signal, onMessage }: RequestOptions = {},
): Promise<JsonRpcResponse> {
  const onProgress = (progress: JsonObject): void =>
    void onMessage?.({ jsonrpc: '2.0', method: 'notifications/progress', params: progress })
  try {
    const result = await slot.request(method, params, { ...(signal && { signal }), onProgress })
    return { jsonrpc: '2.0', id, result }
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return jsonRpcError(id, error.code, error.message, error.data)
  }
}

function adapterRuntime({ runtime }: ProcessSlot): AdapterRuntime {
  return {
    now: () => runtime.now(),
    randomBytes: (length) => runtime.randomBytes(length),
    sleep: (ms) => sleep(ms, undefined, { ref: false }),
  }
}

/** Serves the `subscriptions/listen` of an adapter until its signal is aborted. */
async function listen(
  { id, params }: JsonRpcRequest,
  { changes }: ProcessSlot,
  { signal, onMessage }: RequestOptions = {},
): Promise<JsonRpcResponse> {
  const filter = readSubscriptionFilter(params?.['notifications']) ?? {}
  const ended = new Promise<void>((resolve) => {
    if (signal?.aborted) resolve()
    signal?.addEventListener('abort', () => resolve(), { once: true })
  })
  const send: ChangeListener['send'] = (notification) => void onMessage?.({ jsonrpc: '2.0', ...notification })
  const listener = await changes.listen({ filter, send })
  const acknowledged = { notifications: listener.filter }
  send({ method: 'notifications/subscriptions/acknowledged', params: acknowledged })
  await ended
  changes.remove(listener)
  return { jsonrpc: '2.0', id, result: { resultType: 'complete' } }
}

/**
 * Passes the messages of a client to a process of the same revision, and results back as they are. What is between a client and this
 * server is answered here: how the process presents itself, and whom it tells of changes.
 */
class SameRevision implements Hop {
  readonly #client: ClientPort
  readonly #slot: ProcessSlot
  readonly #uris = new Set<string>()
  readonly #listener: Promise<ChangeListener> | undefined

  constructor(client: ClientPort, slot: ProcessSlot, isSession: boolean) {
    this.#client = client
    this.#slot = slot
    if (isSession)
      this.#listener = slot.changes.listen({
        filter: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
        send: (notification) => void client.send({ jsonrpc: '2.0', ...notification }),
      })
  }

  async receive(message: JsonRpcMessage, signal?: AbortSignal): Promise<void> {
    if (!('method' in message)) return
    const { method, params = {} } = message
    if ('id' in message) return this.#serve(message, signal)
    // A call is cancelled by its signal.
    const isOwn = method === 'notifications/cancelled' || method === 'notifications/initialized'
    if (!isOwn && this.#slot.declared) this.#slot.greeted.connection.notify(method, params)
  }

  async close(): Promise<void> {
    const listener = await this.#listener
    if (listener) this.#slot.changes.remove(listener)
  }

  async #serve(request: JsonRpcRequest, signal: AbortSignal | undefined): Promise<void> {
    const { id } = request
    try {
      await this.#client.send({ jsonrpc: '2.0', id, result: await this.#resultOf(request, signal) })
    } catch (error) {
      await this.#client.send({ jsonrpc: '2.0', id, error: errorObject(error, describeFailure) })
    }
  }

  async #resultOf(
    { id, method, params = {} }: JsonRpcRequest,
    signal: AbortSignal | undefined,
  ): Promise<JsonObject> {
    const process = this.#slot.greeted
    switch (method) {
      case 'initialize':
        return { ...process.presentation, protocolVersion: revisionFor(params['protocolVersion']) }
      case 'server/discover':
        return { ...process.presentation, supportedVersions: [modernRevision] }
      case 'ping':
        return {}
      case 'logging/setLevel':
        await this.#slot.lowerLogLevel(params['level'])
        return {}
      case 'resources/subscribe':
        await this.#subscribe(String(params['uri']))
        return {}
      case 'resources/unsubscribe':
        this.#uris.delete(String(params['uri']))
        await this.#updateFilter()
        return {}
    }
    const result = await this.#slot.request(method, params, {
      ...(signal && { signal }),
      onProgress: (progress) =>
        void this.#client.send({ jsonrpc: '2.0', method: 'notifications/progress', params: progress }, id),
    })
    if (process.era === 'legacy') return result
    const _meta = { ...metaOf(result), [mcpMetaKey.serverInfo]: process.serverInfo }
    return { resultType: 'complete', ...result, _meta }
  }

  async #subscribe(uri: string): Promise<void> {
    await this.#slot.changes.watch(uri)
    this.#uris.add(uri)
    await this.#updateFilter()
  }

  async #updateFilter(): Promise<void> {
    const listener = await this.#listener
    if (listener) listener.filter = { ...listener.filter, resourceSubscriptions: [...this.#uris] }
  }
}

function revisionFor(requested: unknown): string {
  return legacyRevisions.find((known) => known === requested) ?? legacyRevisions[0]
}
