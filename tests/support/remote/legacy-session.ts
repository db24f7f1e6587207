import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { answerMethod, capabilities, instructions, RpcFailure, serverInfo } from './catalogue.ts'
import type { Caller, EndpointWorld } from './endpoint-world.ts'
import { count } from './remote-counters.ts'

/** Receives the answer to one message. */
export interface Reply {
  /** Sends a message before the response. */
  interim(message: JsonObject): void
  /** Sends the response; `undefined` when the request was cancelled. */
  finish(message: JsonObject | undefined): void
}

/** One client of a revision with `initialize`, over any transport. */
export class LegacySession {
  readonly id: string = randomUUID()
  revision: string
  clientInfo: JsonObject = {}
  clientCapabilities: JsonObject = {}
  initialized = false
  level: string | undefined
  readonly subscriptions: Set<string> = new Set()
  readonly #world: EndpointWorld
  readonly #unsolicited: (message: JsonObject) => void
  readonly #running = new Map<JsonRpcId, AbortController>()
  readonly #asked = new Map<string, { resolve(result: unknown): void; reject(error: Error): void }>()

  /** `unsolicited` receives messages that belong to no request. */
  constructor(world: EndpointWorld, unsolicited: (message: JsonObject) => void) {
    this.#world = world
    this.revision = world.settings.revisions[0] ?? '2025-11-25'
    this.#unsolicited = unsolicited
  }

  /** Handles a notification or response from the client. */
  accept(message: JsonRpcMessage): void {
    if (!('method' in message)) {
      const asked = this.#asked.get(String(message.id))
      this.#asked.delete(String(message.id))
      if ('result' in message) asked?.resolve(message.result)
      else asked?.reject(new RpcFailure(message.error.code, message.error.message))
      return
    }
    if (message.method === 'notifications/initialized') this.initialized = true
    if (message.method !== 'notifications/cancelled') return
    const id = message.params?.['requestId'] as JsonRpcId
    this.#world.counters.cancelled.push(id)
    this.#running.get(id)?.abort()
  }

  /** Answers a request. Never rejects. */
  async answer(request: JsonRpcRequest, caller: Caller, reply: Reply): Promise<void> {
    const cancel = new AbortController()
    this.#running.set(request.id, cancel)
    try {
      const result = await this.#result(request, caller, reply, cancel.signal)
      reply.finish(cancel.signal.aborted ? undefined : { jsonrpc: '2.0', id: request.id, result })
    } catch (error) {
      if (cancel.signal.aborted) return reply.finish(undefined)
      const { code, message, data } =
        error instanceof RpcFailure
          ? error
          : { code: jsonRpcCode.internalError, message: String(error), data: undefined }
      reply.finish({ ...jsonRpcError(request.id, code, message, data) })
    } finally {
      this.#running.delete(request.id)
    }
  }

  /** Sends a request of the server, through `send` or by default outside any request. */
  ask(method: string, params: JsonObject, send = this.#unsolicited): Promise<unknown> {
    const needed = {
      'elicitation/create': 'elicitation',
      'sampling/createMessage': 'sampling',
      'roots/list': 'roots',
    }
    const capability = (needed as Record<string, string | undefined>)[method]
    if (capability !== undefined && !(capability in this.clientCapabilities)) {
      return Promise.reject(new RpcFailure(jsonRpcCode.invalidRequest, `the client has no ${capability}`))
    }
    const id = `ask-${randomUUID()}`
    if (params['mode'] === 'url') params = { ...params, elicitationId: id }
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject })
      send({ jsonrpc: '2.0', id, method, params })
    })
  }

  /** Sends a notification outside any request, if the client wants it. */
  tell(method: string, params: JsonObject): void {
    if (method === 'notifications/resources/updated' && !this.subscriptions.has(String(params['uri']))) return
    this.#unsolicited({ jsonrpc: '2.0', method, params })
  }

  async #result(
    request: JsonRpcRequest,
    caller: Caller,
    reply: Reply,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const params = request.params ?? {}
    const own = this.#ownMethod(request.method, params)
    if (own !== undefined) return own
    const { settings, counters, extraTools, broadcast } = this.#world
    const send = (message: JsonObject): void => reply.interim(message)
    return answerMethod(request.method, {
      settings,
      counters,
      params,
      signal,
      caller,
      extraTools,
      broadcast,
      notify: (method, params) => send({ jsonrpc: '2.0', method, params }),
      ask: async (questions) => {
        const answers = Object.entries(questions).map(async ([key, { method, params }]) => [
          key,
          await this.ask(method, params, send),
        ])
        return Object.fromEntries(await Promise.all(answers)) as Record<string, unknown>
      },
    })
  }

  #ownMethod(method: string, params: JsonObject): JsonObject | undefined {
    switch (method) {
      case 'initialize':
        return this.#initialize(params)
      case 'ping':
        return {}
      case 'logging/setLevel':
        this.level = String(params['level'])
        return {}
      case 'resources/subscribe':
        this.subscriptions.add(String(params['uri']))
        return {}
      case 'resources/unsubscribe':
        this.subscriptions.delete(String(params['uri']))
        return {}
    }
    return undefined
  }

  #initialize(params: JsonObject): JsonObject {
    const { revisions } = this.#world.settings
    const wanted = String(params['protocolVersion'])
    this.revision = revisions.includes(wanted) ? wanted : (revisions[0] ?? wanted)
    this.clientInfo = isJsonObject(params['clientInfo']) ? params['clientInfo'] : {}
    this.clientCapabilities = isJsonObject(params['capabilities']) ? params['capabilities'] : {}
    return { protocolVersion: this.revision, capabilities, serverInfo, instructions }
  }
}

/** Counts a message by its method. */
export function countMessage(world: EndpointWorld, message: JsonRpcMessage): void {
  if ('method' in message) count(world.counters.methods, message.method)
}
