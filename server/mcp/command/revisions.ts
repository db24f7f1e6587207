import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { createAdapterFrom2025To2026 } from '@drawbridge/shared/mcp/adapter/2025-to-2026/adapter.ts'
import { withServerInfo } from '@drawbridge/shared/mcp/adapter/2026-to-2025/result.ts'
import { errorObject } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import type {
  Adapter,
  ClientPort,
  RequestOptions,
  Session2025,
} from '@drawbridge/shared/mcp/adapter/ports.ts'
import { readSubscriptionFilter } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import type {
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcRequest,
  JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { legacyRevisions, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import type { ServingContext } from '../endpoint-config.ts'
import type { ChangeListener } from '../subscriptions.ts'
import { describeFailure } from './process/process-connection.ts'
import type { ProcessLink } from './process-link.ts'
import { createAdapterFrom2026To2025 } from '@drawbridge/shared/mcp/adapter/2026-to-2025/adapter.ts'
import { inputMethods } from '@drawbridge/shared/mcp/adapter/input-required.ts'

/** Takes the messages of one client to the process, and back, whichever revisions they speak. */
export interface Hop {
  /** `signal` is aborted when the client no longer waits for the response. */
  receive(message: JsonRpcMessage, signal?: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** The {@link Hop} of a client that speaks 2026-07-28, or an earlier revision in a session or without one. */
export function openHop(kind: ServingContext['kind'], client: ClientPort, of2026: ClientsOf2026): Hop {
  const { link } = of2026
  const isModern = link.process.era === 'modern'
  if (isModern === (kind === '2026-07-28')) return new SameRevision(client, link, kind === 'session')
  return isModern ? adapt2025(client, link) : of2026.connect(client)
}

function adapt2025(client: ClientPort, link: ProcessLink): Hop {
  return createAdapterFrom2025To2026({
    client,
    server: {
      errorResponse: () => undefined,
      request: (message, options) =>
        message.method === 'subscriptions/listen'
          ? listen(message, link, options)
          : link.respond(message, options),
    },
    discovered: link.process.presentation,
    describeFailure,
    runtime: link.runtime,
  })
}

/** Serves the `subscriptions/listen` of an adapter until its signal is aborted. */
async function listen(
  { id, params }: JsonRpcRequest,
  { changes }: ProcessLink,
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
  readonly #link: ProcessLink
  readonly #uris = new Set<string>()
  readonly #listener: Promise<ChangeListener> | undefined

  constructor(client: ClientPort, link: ProcessLink, isSession: boolean) {
    this.#client = client
    this.#link = link
    if (isSession)
      this.#listener = link.changes.listen({
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
    if (!isOwn && this.#link.declared) this.#link.notify(method, params)
  }

  async close(): Promise<void> {
    const listener = await this.#listener
    if (listener) this.#link.changes.remove(listener)
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
    const { process } = this.#link
    switch (method) {
      case 'initialize':
        return { ...process.presentation, protocolVersion: revisionFor(params['protocolVersion']) }
      case 'server/discover':
        return { ...process.presentation, supportedVersions: [modernRevision] }
      case 'ping':
        return {}
      case 'logging/setLevel':
        await this.#link.lowerLogLevel(params['level'])
        return {}
      case 'resources/subscribe':
        await this.#subscribe(String(params['uri']))
        return {}
      case 'resources/unsubscribe':
        this.#uris.delete(String(params['uri']))
        await this.#updateFilter()
        return {}
    }
    const result = await this.#link.request(method, params, {
      ...(signal && { signal }),
      onProgress: (progress) =>
        void this.#client.send({ jsonrpc: '2.0', method: 'notifications/progress', params: progress }, id),
    })
    if (process.era === 'legacy') return result
    const _meta = withServerInfo(metaOf(result), process.serverInfo)
    return { resultType: 'complete', ...result, _meta }
  }

  async #subscribe(uri: string): Promise<void> {
    await this.#link.changes.watch(uri)
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

/**
 * The clients of 2026-07-28 of a process of an earlier revision, by one adapter for all: a call that asks its client outlives the
 * request, and the retry comes as a message of its own.
 */
export class ClientsOf2026 {
  readonly link: ProcessLink
  readonly #open = new Map<JsonRpcId, { client: ClientPort; id: JsonRpcId }>()
  #adapter: Adapter | undefined
  #lastId = 0

  constructor(link: ProcessLink) {
    this.link = link
  }

  /** Takes the requests of a client, whose ids other clients may have too. */
  connect(client: ClientPort): Pick<Adapter, 'receive' | 'close'> {
    const adapter = (this.#adapter ??= this.#createAdapter())
    return {
      receive: async (message) => {
        if (!('method' in message) || !('id' in message)) return
        this.#lastId += 1
        this.#open.set(this.#lastId, { client, id: message.id })
        await adapter.receive({ ...message, id: this.#lastId, params: this.#withDeclared(message.params) })
      },
      close: async () => {
        for (const [requestId, open] of this.#open) {
          if (open.client !== client) continue
          this.#open.delete(requestId)
          await adapter.receive({
            jsonrpc: '2.0',
            method: 'notifications/cancelled',
            params: { requestId },
          })
        }
      },
    }
  }

  close(): void {
    void this.#adapter?.close()
  }

  #createAdapter(): Adapter {
    const session = new AskingSession(this.link)
    this.link.askableCall = () => session.latestCall
    return createAdapterFrom2026To2025({
      client: { send: (message, relatedTo) => this.#send(message, relatedTo) },
      server: { errorResponse: () => undefined, open: async () => session },
      describeFailure,
      runtime: this.link.runtime,
      warn() {},
    })
  }

  async #send(message: JsonRpcMessage, relatedTo: JsonRpcId | undefined): Promise<void> {
    if ('method' in message) {
      const open = this.#open.get(relatedTo ?? '')
      return open?.client.send(message, open.id)
    }
    const open = this.#open.get(message.id ?? '')
    this.#open.delete(message.id ?? '')
    return open?.client.send({ ...message, id: open.id })
  }

  /** The process was told at its start what its clients can be asked. */
  #withDeclared(params: JsonObject | undefined): JsonObject {
    const capabilities = this.link.declared ?? {}
    return { ...params, _meta: { ...metaOf(params), [mcpMetaKey.clientCapabilities]: capabilities } }
  }
}

/** The process as the one session of an adapter: it was initialized at its start. */
class AskingSession implements Session2025 {
  readonly #link: ProcessLink
  readonly #askable = new Set<ClientPort>()

  constructor(link: ProcessLink) {
    this.#link = link
  }

  /** The latest call whose client can be asked. */
  get latestCall(): ClientPort | undefined {
    return [...this.#askable].at(-1)
  }

  get initialized(): JsonObject {
    return this.#link.process.presentation
  }

  async request(message: JsonRpcRequest, options: RequestOptions = {}): Promise<JsonRpcResponse> {
    const { id, method, params } = message
    if (method === 'logging/setLevel') {
      await this.#link.lowerLogLevel(params?.['level'])
      return { jsonrpc: '2.0', id, result: {} }
    }
    const { onMessage } = options
    if (!onMessage || !inputMethods.has(method)) return this.#link.respond(message, options)
    const call: ClientPort = { send: async (asked) => onMessage(asked) }
    this.#askable.add(call)
    try {
      return await this.#link.respond(message, options)
    } finally {
      this.#askable.delete(call)
    }
  }

  // The only one is of a cancellation, which the signal of the request brings too.
  async notify(): Promise<void> {}

  async answer(response: JsonRpcResponse): Promise<void> {
    this.#link.questions.answer(response)
  }

  async close(): Promise<void> {}
}
