import { isJSONRPCResponse, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { errorObject } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import type {
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { logSeverity, metaOf } from '@drawbridge/shared/mcp/params.ts'
import type { Send } from '@drawbridge/shared/mcp/pipeline.ts'
import { hasRequest, type Incoming } from '../incoming.ts'
import type { Peer, ServingContext } from '../endpoint-config.ts'
import { AdaptedProcess, type CallContext } from './adapted-process.ts'
import { type CallPorts, callSteps } from './call-steps.ts'
import { describeFailure } from './process/process-connection.ts'
import { unreadable } from './process/process-output.ts'
import type { ProcessPool } from './process-pool.ts'
import type { ProcessSlot, SlotClient } from './process-slot.ts'

export interface ForwardingPorts extends CallPorts {
  pool: ProcessPool
  report: (event: 'upstream_output_skipped' | 'mcp_rejected', fields: Record<string, unknown>) => void
}

/** A client of a process: a session, or one message. Its requests pass {@link callSteps}. */
export class ForwardedClient implements Peer, SlotClient {
  readonly kind: ServingContext['kind']
  readonly #incoming: ServingContext['incoming']
  readonly #ports: ForwardingPorts
  readonly #open = new Map<JsonRpcId, AbortController>()
  #slot: ProcessSlot | undefined
  #transport: Transport | undefined
  #send: Send<CallContext, JsonRpcRequest> | undefined
  /** Between the client and a process of 2026-07-28, if the client is of an earlier revision. */
  #adapted: AdaptedProcess | undefined
  #logLevel: unknown = 'debug'

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
      const adapted = (this.#adapted = isAdapted ? new AdaptedProcess(this, slot) : undefined)
      this.#send = callSteps(kind, slot, this.#ports, adapted)
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

  log(params: JsonObject, id?: JsonRpcId): void {
    const minimum = logSeverity(this.#logLevel)
    if (minimum === undefined || (logSeverity(params['level']) ?? -1) < minimum) return
    void this.send({ jsonrpc: '2.0', method: 'notifications/message', params }, id)
  }

  #receive(message: JsonRpcMessage): void {
    if ('method' in message && 'id' in message) void this.#serve(message)
    else if ('method' in message) this.#onNotification(message)
    else if (this.#slot?.questions.answer(message) === false) this.#adapted?.pass(message)
  }

  #onNotification(message: JsonRpcNotification): void {
    const { method, params = {} } = message
    const isOwn = method === 'notifications/cancelled' || method === 'notifications/initialized'
    if (method === 'notifications/cancelled') this.#cancel(params['requestId'] as JsonRpcId)
    if (this.#adapted) this.#adapted.pass(message)
    else if (!isOwn && this.#slot?.declared) this.#slot.greeted.connection.notify(method, params)
  }

  async #serve(request: JsonRpcRequest): Promise<void> {
    const { id, method, params } = request
    // A second request of one id could not be answered.
    if (!this.#send || this.#open.has(id)) return
    const level = params?.['level']
    if (method === 'logging/setLevel' && logSeverity(level) !== undefined) this.#logLevel = level
    if (this.kind === '2026-07-28') this.#logLevel = metaOf(params)[mcpMetaKey.logLevel]
    const controller = new AbortController()
    const { signal } = controller
    const incoming = this.#incoming()
    this.#open.set(id, controller)
    const ended = this.slot.begin({ client: this, id }, incoming.caller)
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
    this.#adapted?.close()
    for (const id of this.#open.keys()) this.#cancel(id)
    if (this.kind === 'session') this.#slot?.leave(this)
  }
}
