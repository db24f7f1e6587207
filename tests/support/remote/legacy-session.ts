import { randomUUID } from 'node:crypto'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcId, JsonRpcMessage, JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { answerMethod, capabilities, errorOf, instructions, RpcFailure, serverInfo } from './catalogue.ts'
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
  readonly id: string
  revision: string
  readonly #world: EndpointWorld
  readonly #unsolicited: (message: JsonObject) => void
  readonly #running = new Map<JsonRpcId, AbortController>()
  readonly #asked = new Map<string, { resolve(result: unknown): void; reject(error: Error): void }>()

  /** `unsolicited` receives messages that belong to no request. */
  constructor(world: EndpointWorld, unsolicited: (message: JsonObject) => void) {
    this.#world = world
    this.id = `session-${(world.counters.sessionsOpened += 1)}`
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
      reply.finish(errorOf(request.id, error))
    } finally {
      this.#running.delete(request.id)
    }
  }

  #ask(method: string, params: JsonObject, send: (message: JsonObject) => void): Promise<unknown> {
    const id = `ask-${randomUUID()}`
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject })
      send({ jsonrpc: '2.0', id, method, params })
    })
  }

  /** Sends a notification outside any request. */
  tell(method: string, params: JsonObject): void {
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
    const { counters, extraTools, settings } = this.#world
    const send = (message: JsonObject): void => reply.interim(message)
    return answerMethod(request.method, {
      counters,
      params,
      signal,
      caller,
      extraTools,
      replacedTools: settings.tools,
      notify: (method, params) => send({ jsonrpc: '2.0', method, params }),
      ask: (method, params) => this.#ask(method, params, send),
    })
  }

  #ownMethod(method: string, params: JsonObject): JsonObject | undefined {
    switch (method) {
      case 'initialize':
        return this.#initialize(params)
      case 'ping':
      case 'logging/setLevel':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return {}
    }
    return undefined
  }

  #initialize(params: JsonObject): JsonObject {
    const { revisions, opening } = this.#world.settings
    const wanted = String(params['protocolVersion'])
    this.revision = revisions.includes(wanted) ? wanted : (revisions[0] ?? wanted)
    return { protocolVersion: this.revision, capabilities, serverInfo, instructions, ...opening }
  }
}

/** Counts a message by its method. */
export function countMessage(world: EndpointWorld, message: JsonRpcMessage): void {
  if ('method' in message) count(world.counters.methods, message.method)
}
