import { isJSONRPCResponse, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { CallError, errorObject } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import { withoutNotifications } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import { inputMethods } from '@drawbridge/shared/mcp/adapter/input-required.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { logSeverity, metaOf } from '@drawbridge/shared/mcp/params.ts'
import { AnsweredCalls, isOffered } from '../answered-calls.ts'
import type { KnownTools } from '../known-tools.ts'
import type { UpstreamPolicy } from '../../core/gateway/upstream.ts'
import type { Incoming } from '../incoming.ts'
import type { RequestStateCodec } from '../sdk/request-state.ts'
import type { Peer, ServingContext } from '../endpoint-config.ts'
import { unknownTool } from '../tools/tool-result.ts'
import { describeFailure } from './process/process-connection.ts'
import { unreadable } from './process/process-line.ts'
import { callerName, type ProcessPool } from './process-pool.ts'
import type { OpenCall, ProcessSlot, SlotClient } from './process-slot.ts'
import { type Hop, openHop } from './revisions.ts'

export interface ForwardingPorts {
  pool: ProcessPool
  policy: UpstreamPolicy
  known: KnownTools
  states: RequestStateCodec
  report: (event: 'upstream_output_skipped', fields: Record<string, unknown>) => void
}

/** Methods that a shared process gets. Any other could leave something of one person for another. */
const sharedMethods =
  /^(?:initialize|ping|server\/discover|tools\/(?:list|call)|resources\/(?:list|templates\/list|read)|prompts\/(?:list|get)|completion\/complete)$/

/** Never forwarded: what would outlive its call, and what the client's revision or way of connecting does not have. */
const refusedMethods: Readonly<Record<ServingContext['kind'], RegExp>> = {
  session: /^(?:subscriptions|tasks|events)\//,
  stateless: /^(?:(?:subscriptions|tasks|events)\/.*|logging\/setLevel|resources\/(?:un)?subscribe)$/,
  '2026-07-28': /^(?:(?:tasks|events)\/.*|initialize|ping|logging\/setLevel|resources\/(?:un)?subscribe)$/,
}

interface ForwardedCall {
  /** Aborted when nobody waits for the answer any more. */
  controller: AbortController
  request: JsonRpcRequest
  incoming: Incoming
  answered: AnsweredCalls
  /** Called when it has been answered, or is not going to be. */
  end: () => void
}

/**
 * A client of a process: a session, or one message. Takes its messages in this order: what may be forwarded, the record of calls, the
 * tools that policy and access rules leave to the caller, the state of a call that is continued, and then the revision. Answers come
 * back the same way.
 */
export class ForwardedClient implements Peer, SlotClient {
  readonly kind: ServingContext['kind']
  readonly #incoming: ServingContext['incoming']
  readonly #ports: ForwardingPorts
  readonly #open = new Map<JsonRpcId, ForwardedCall>()
  #slot: ProcessSlot | undefined
  #hop: Hop | undefined
  #transport: Transport | undefined
  #logLevel = 'debug'

  constructor({ kind, incoming }: ServingContext, ports: ForwardingPorts) {
    this.kind = kind
    this.#incoming = incoming
    this.#ports = ports
  }

  /** The place of its process. Only once it is held. */
  get slot(): ProcessSlot {
    if (!this.#slot) throw new TypeError('The client has no process.')
    return this.#slot
  }

  async hold(incoming: Incoming): Promise<() => void> {
    this.#slot?.use.hears()
    this.#slot = await this.#ports.pool.hold(this.#slot, this.kind, incoming)
    const slot = this.#slot
    // What a stream answers is forwarded only after its response has been returned.
    return () => void setImmediate(() => slot?.use.over())
  }

  listens(isListening: boolean): void {
    this.#slot?.use.listens(isListening)
  }

  async connect(transport: Transport): Promise<void> {
    const { onclose } = transport
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- transports have no other way
    transport.onclose = () => {
      onclose?.()
      this.#leave()
    }
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- transports have no other way
    transport.onmessage = (message) => this.#receive(message as JsonRpcMessage)
    this.#transport = transport
    if (this.#slot) {
      this.#hop = openHop(this.kind, this, this.#slot)
      if (this.kind === 'session') this.#slot.sessions.add(this)
    }
    await transport.start()
  }

  async close(): Promise<void> {
    if (this.#transport) await this.#transport.close()
    else this.#leave()
  }

  async send(message: JsonRpcMessage, relatedRequestId?: JsonRpcId): Promise<void> {
    if (!('method' in message)) return this.#answer(message)
    const related = relatedRequestId === undefined ? {} : { relatedRequestId }
    // A client that has left wants no message.
    await this.#transport?.send(message, related).catch(() => {})
  }

  log(params: JsonObject, id?: JsonRpcId): void {
    const call = id === undefined ? undefined : this.#open.get(id)
    const level = this.kind === 'session' ? this.#logLevel : metaOf(call?.request.params)[mcpMetaKey.logLevel]
    const minimum = logSeverity(level)
    if (minimum === undefined || (logSeverity(params['level']) ?? -1) < minimum) return
    void this.send({ jsonrpc: '2.0', method: 'notifications/message', params }, id)
  }

  #receive(message: JsonRpcMessage): void {
    if (!('method' in message)) {
      if (!this.#slot?.questions.answer(message, this)) void this.#hop?.receive(message)
    } else if ('id' in message) {
      void this.#serve(message)
    } else if (this.kind === 'session') {
      this.#onNotification(message)
    }
  }

  #onNotification(message: JsonRpcNotification): void {
    const { method, params } = message
    if (method === 'notifications/cancelled') this.#cancel(params?.['requestId'] as JsonRpcId)
    void this.#hop?.receive(message)
  }

  async #serve(request: JsonRpcRequest): Promise<void> {
    const { id, method, params = {} } = request
    const slot = this.#slot
    if (!slot || !this.#isForwarded(method, slot)) {
      const refusal = jsonRpcError(id, jsonRpcCode.methodNotFound, 'Method not found')
      return this.#transport?.send(refusal as JSONRPCMessage).catch(() => {})
    }
    // A second request of one id could not be answered.
    if (this.#open.has(id)) return
    const incoming = this.#incoming()
    const call = this.#begin(request, incoming, slot)
    try {
      if (method === 'tools/call') await this.#check(String(params['name']), call, slot)
      if (method === 'logging/setLevel' && typeof params['level'] === 'string')
        this.#logLevel = params['level']
      const opened = this.#withOpenState(request, incoming)
      if (this.#open.get(id) === call) void this.#hop?.receive(opened, call.controller.signal)
    } catch (error) {
      await this.send({ jsonrpc: '2.0', id, error: errorObject(error, describeFailure) })
    }
  }

  #isForwarded(method: string, { isShared }: ProcessSlot): boolean {
    return !refusedMethods[this.kind].test(method) && (!isShared || sharedMethods.test(method))
  }

  #begin(request: JsonRpcRequest, incoming: Incoming, slot: ProcessSlot): ForwardedCall {
    const { policy, known } = this.#ports
    const open: OpenCall = { client: this, id: request.id }
    slot.calls.add(open)
    slot.latestCaller = callerName(incoming.caller.user)
    slot.use.begin()
    const call: ForwardedCall = {
      controller: new AbortController(),
      request,
      incoming,
      answered: new AnsweredCalls({ ...incoming, body: request }, { policy, known, withTaskIds: undefined }),
      end: () => {
        slot.calls.delete(open)
        slot.use.over()
      },
    }
    this.#open.set(request.id, call)
    return call
  }

  /** Throws when there is no such tool for the caller: what is hidden is answered as what does not exist. */
  async #check(name: string, { incoming, answered }: ForwardedCall, { tools }: ProcessSlot): Promise<void> {
    const isKnown = await tools.knows(name)
    const isHidden = isKnown !== false && !isOffered(name, incoming.caller, this.#ports.policy)
    if (isHidden) answered.end('refused_rule')
    if (isHidden || isKnown === false) throw new CallError(jsonRpcCode.invalidParams, unknownTool(name))
  }

  /** The request as its process sees it: with the state that it made itself, and nothing that it could ask of others. */
  #withOpenState(request: JsonRpcRequest, incoming: Incoming): JsonRpcRequest {
    const { method, params = {} } = request
    if (method === 'initialize')
      return { ...request, params: { ...params, capabilities: this.slot.declared ?? {} } }
    const { requestState } = params
    if (this.kind !== '2026-07-28' || typeof requestState !== 'string' || !inputMethods.has(method))
      return request
    try {
      const opened = this.#ports.states.open(requestState, incoming)
      return { ...request, params: { ...params, requestState: opened } }
    } catch {
      throw new CallError(jsonRpcCode.invalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      })
    }
  }

  /** Sends a response, if its call is still open; an error in its place if the transport cannot send it. */
  async #answer(response: JsonRpcResponse): Promise<void> {
    const call = this.#open.get(response.id ?? '')
    if (!call) return
    const { id } = call.request
    this.#open.delete(id)
    call.end()
    try {
      const shown = this.#shown(response, call)
      // The transport would not take it for one, and say nothing.
      if (!isJSONRPCResponse(shown)) throw new TypeError('The answer is not a valid response.')
      await this.#transport?.send(shown)
    } catch (error) {
      const sub = call.incoming.caller.user?.sub
      this.#ports.report('upstream_output_skipped', {
        sub,
        line: `An answer could not be passed on: ${String(error)}`,
      })
      await this.#transport?.send({ jsonrpc: '2.0', id, error: unreadable }).catch(() => {})
    }
  }

  /** The response as the client gets it. */
  #shown(response: JsonRpcResponse, call: ForwardedCall): JsonRpcResponse {
    const passed = call.answered.passResponse(response)
    if (!('result' in passed) || !isJsonObject(passed.result)) return passed
    const { capabilities, requestState } = passed.result
    const { method } = call.request
    if ((method === 'initialize' || method === 'server/discover') && isJsonObject(capabilities))
      return { ...passed, result: { ...passed.result, capabilities: this.#offered(capabilities) } }
    if (this.kind !== '2026-07-28' || requestState === undefined) return passed
    const sealed = this.#ports.states.seal(requestState, call.incoming)
    return { ...passed, result: { ...passed.result, requestState: sealed } }
  }

  #offered(given: JsonObject): JsonObject {
    const offered = this.slot.offered(given)
    return this.kind === 'stateless' ? withoutNotifications(offered) : offered
  }

  #cancel(id: JsonRpcId): void {
    const call = this.#open.get(id)
    this.#open.delete(id)
    call?.controller.abort()
    call?.answered.end('cancelled')
    call?.end()
  }

  #leave(): void {
    void this.#hop?.close()
    for (const id of this.#open.keys()) this.#cancel(id)
    if (this.kind === 'session') this.#slot?.leave(this)
  }
}
