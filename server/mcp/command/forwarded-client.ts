import { isJSONRPCResponse, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Adapter } from '@drawbridge/shared/mcp/adapter/adapter.ts'
import { CallError, errorObject } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import { inputMethods } from '@drawbridge/shared/mcp/adapter/input-required.ts'
import {
  jsonRpcCode,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { legacyRevisions, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { type Context, intercepted, pipeline, type Send, type Step } from '@drawbridge/shared/mcp/pipeline.ts'
import { AnsweredCalls, isOffered } from '../answered-calls.ts'
import type { KnownTools } from '../known-tools.ts'
import { hasRequest, type Incoming } from '../incoming.ts'
import type { RequestStateCodec } from '../sdk/request-state.ts'
import type { Peer, ServingContext } from '../endpoint-config.ts'
import { unknownTool } from '../tools/tool-result.ts'
import { createProcessAdapter } from './process-adapter.ts'
import { describeFailure } from './process/process-connection.ts'
import { unreadable } from './process/process-output.ts'
import type { ProcessPool } from './process-pool.ts'
import type { ProcessSlot, SlotClient } from './process-slot.ts'

export interface ForwardingPorts {
  pool: ProcessPool
  known: KnownTools
  states: RequestStateCodec
  report: (event: 'upstream_output_skipped' | 'mcp_rejected', fields: Record<string, unknown>) => void
}

interface CallContext extends Context<JsonRpcMessage> {
  readonly incoming: Incoming
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal
}

type CallStep = Step<CallContext, JsonRpcRequest>
type SendCall = Send<CallContext, JsonRpcRequest>

const step = (send: CallStep['send']): CallStep => ({ send })

/** A client of a process: a session, or one message. The steps of its requests are listed in {@link ForwardedClient.connect}. */
export class ForwardedClient implements Peer, SlotClient {
  readonly kind: ServingContext['kind']
  readonly #incoming: ServingContext['incoming']
  readonly #ports: ForwardingPorts
  readonly #open = new Map<JsonRpcId, AbortController>()
  #slot: ProcessSlot | undefined
  #transport: Transport | undefined
  #send: SendCall | undefined
  /** Between the client and a process of 2026-07-28, if the client is of an earlier revision. */
  #adapter: Adapter | undefined

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

  /** Holds the process for a message; the first request of a client finds it. Rejects with `Unavailable`. */
  async hold(incoming: Incoming): Promise<() => void> {
    // A message without a request starts no process.
    if (!hasRequest(incoming.body)) this.#slot?.use.begin()
    else if (this.#slot) await this.#slot.hold(incoming.caller)
    else this.#slot = await this.#ports.pool.hold(this.kind, incoming)
    const slot = this.#slot
    return () => slot?.use.over()
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
    const { kind } = this
    const slot = this.#slot
    if (slot) {
      const isAdapted = slot.greeted.era === 'modern' && kind !== '2026-07-28'
      if (isAdapted) this.#adapter = createProcessAdapter(this, slot)
      // A request passes these, in this order, and then goes to the process. What comes back passes them in reverse.
      const steps = [
        forwardedMethods(kind, slot),
        recordedCalls(this.#ports),
        sealedStates(kind, this.#ports),
      ]
      this.#send = pipeline(
        steps,
        this.#adapter ? toOtherRevision(this.#adapter, slot) : toOwnRevision(kind, slot),
      )
      if (kind === 'session') slot.sessions.add(this)
    }
    await transport.start()
  }

  async close(): Promise<void> {
    if (this.#transport) await this.#transport.close()
    else this.#leave()
  }

  async send(message: JsonRpcMessage, relatedRequestId?: JsonRpcId): Promise<void> {
    const related = relatedRequestId === undefined ? {} : { relatedRequestId }
    // A client that has left takes no message.
    await this.#transport?.send(message as JSONRPCMessage, related).catch(() => {})
  }

  #receive(message: JsonRpcMessage): void {
    if ('method' in message && 'id' in message) void this.#serve(message)
    else if ('method' in message) this.#onNotification(message)
    else if (this.#slot?.questions.answer(message) === false) this.#adapter?.receive(message)
  }

  #onNotification(message: JsonRpcNotification): void {
    const { method, params = {} } = message
    const isOwn = method === 'notifications/cancelled' || method === 'notifications/initialized'
    if (method === 'notifications/cancelled') this.#cancel(params['requestId'] as JsonRpcId)
    if (this.#adapter) this.#adapter.receive(message)
    else if (!isOwn && this.#slot?.declared) this.#slot.greeted.connection.notify(method, params)
  }

  async #serve(request: JsonRpcRequest): Promise<void> {
    const { id, params } = request
    // A second request of one id could not be answered.
    if (!this.#send || this.#open.has(id)) return
    const controller = new AbortController()
    const { signal } = controller
    const incoming = this.#incoming()
    this.#open.set(id, controller)
    const takesLogs = this.kind === 'session' || mcpMetaKey.logLevel in metaOf(params)
    const ended = this.slot.begin({ client: this, id, takesLogs }, incoming.caller)
    const deliver = (message: JsonRpcMessage): Promise<void> | undefined => {
      if (this.#open.get(id) !== controller) return undefined
      return 'method' in message ? this.send(message, id) : this.#answer(id, message, incoming)
    }
    try {
      await this.#send(request, { incoming, signal, deliver })
    } catch (error) {
      await deliver({ jsonrpc: '2.0', id, error: errorObject(error, describeFailure) })
    } finally {
      if (this.#open.get(id) === controller) this.#open.delete(id)
      ended()
    }
  }

  /** Sends a response, or an error in its place if the transport cannot send it. */
  async #answer(id: JsonRpcId, response: JsonRpcMessage, { caller }: Incoming): Promise<void> {
    this.#open.delete(id)
    try {
      // The transport would not take it for a response, and say nothing.
      if (!isJSONRPCResponse(response)) throw new TypeError('The answer is not a valid response.')
      await this.#transport?.send(response)
    } catch (error) {
      const line = `An answer could not be passed on: ${String(error)}`
      this.#ports.report('upstream_output_skipped', { sub: caller.user?.sub, line })
      await this.send({ jsonrpc: '2.0', id, error: unreadable })
    }
  }

  #cancel(id: JsonRpcId): void {
    const controller = this.#open.get(id)
    this.#open.delete(id)
    controller?.abort()
  }

  #leave(): void {
    this.#adapter?.close()
    for (const id of this.#open.keys()) this.#cancel(id)
    if (this.kind === 'session') this.#slot?.leave(this)
  }
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

/** Refuses methods that are not forwarded. */
function forwardedMethods(kind: ServingContext['kind'], { isShared }: ProcessSlot): CallStep {
  return step(async (request, context, next) => {
    const { method } = request
    if (refusedMethods[kind].test(method) || (isShared && !sharedMethods.test(method)))
      throw new CallError(jsonRpcCode.methodNotFound, 'Method not found')
    return next(request, context)
  })
}

/**
 * Records how calls end, and removes from results what the caller may not see: hidden tools are reported as unknown. Answers with what
 * later steps throw.
 */
function recordedCalls({ known }: ForwardingPorts): CallStep {
  return step(async (request, context, next) => {
    const { incoming, signal } = context
    const ports = { known, withTaskIds: undefined }
    const answered = new AnsweredCalls({ ...incoming, body: request }, ports)
    const recorded = intercepted<CallContext, JsonRpcMessage>(context, (message, deliver) =>
      deliver('method' in message ? message : answered.passResponse(message)),
    )
    signal.addEventListener('abort', () => answered.end('cancelled'), { once: true })
    const name = String(request.params?.['name'])
    const isHidden = request.method === 'tools/call' && !isOffered(name, incoming.caller, known)
    try {
      if (isHidden) throw new CallError(jsonRpcCode.invalidParams, unknownTool(name))
      await next(request, recorded)
    } catch (error) {
      if (isHidden) answered.end('refused_rule')
      const refusal = errorObject(error, describeFailure)
      await recorded.deliver({ jsonrpc: '2.0', id: request.id, error: refusal })
    }
  })
}

/** Seals the state of a call that waits for input, and opens the one that comes back, so that each belongs to one person. */
function sealedStates(kind: ServingContext['kind'], { states }: ForwardingPorts): CallStep {
  const opened = (request: JsonRpcRequest, incoming: Incoming): JsonRpcRequest => {
    const { method, params = {} } = request
    const { requestState } = params
    if (typeof requestState !== 'string' || !inputMethods.has(method)) return request
    try {
      return { ...request, params: { ...params, requestState: states.open(requestState, incoming) } }
    } catch {
      throw new CallError(jsonRpcCode.invalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      })
    }
  }
  const sealed = (message: JsonRpcMessage, incoming: Incoming): JsonRpcMessage => {
    const result = 'result' in message ? message.result : undefined
    if (!isJsonObject(result) || result['requestState'] === undefined) return message
    const requestState = states.seal(result['requestState'], incoming)
    return { ...message, result: { ...result, requestState } }
  }
  return step(async (request, context, next) => {
    if (kind !== '2026-07-28') return next(request, context)
    const { incoming } = context
    const sealing = intercepted<CallContext, JsonRpcMessage>(context, (message, deliver) =>
      deliver(sealed(message, incoming)),
    )
    return next(opened(request, incoming), sealing)
  })
}

/** Sends to a process of another revision by the adapter, with the capabilities that a process may know. */
function toOtherRevision(adapter: Adapter, { declared: capabilities = {} }: ProcessSlot): SendCall {
  return async (request, context) => {
    const isFirst = request.method === 'initialize'
    const adapted = isFirst ? { ...request, params: { ...request.params, capabilities } } : request
    const result = await adapter.request(adapted, context)
    await context.deliver({ jsonrpc: '2.0', id: request.id, result })
  }
}

/** Sends to a process of the client's revision. Answers what is between the client and this server. */
function toOwnRevision(kind: ServingContext['kind'], slot: ProcessSlot): SendCall {
  return async ({ id, method, params = {} }, { signal, deliver }) => {
    const resultOf = async (): Promise<JsonObject> => {
      const { era, serverInfo } = slot.greeted
      switch (method) {
        case 'initialize':
          return { ...slot.presentationFor(kind), protocolVersion: revisionFor(params['protocolVersion']) }
        case 'server/discover':
          return { ...slot.presentationFor(kind), supportedVersions: [modernRevision] }
        case 'ping':
          return {}
      }
      const result = await slot.request(method, params, { signal, onMessage: deliver })
      if (era === 'legacy') return result
      const _meta = { ...metaOf(result), [mcpMetaKey.serverInfo]: serverInfo }
      return { resultType: 'complete', ...result, _meta }
    }
    await deliver({ jsonrpc: '2.0', id, result: await resultOf() })
  }
}

function revisionFor(requested: unknown): string {
  return legacyRevisions.find((known) => known === requested) ?? legacyRevisions[0]
}
