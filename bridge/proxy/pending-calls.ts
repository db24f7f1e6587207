import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  type JsonRpcId,
  parseWireMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Context, Send, Step } from '@drawbridge/shared/mcp/pipeline.ts'
import { mayRepeat } from '../http/retry.ts'
import { TransportError } from '../transport/transport.ts'

export interface ClientContext extends Context {
  readonly era: McpEra
  /** The request that this is about. */
  readonly call?: PendingCall
}

/** A request of the client that has no answer yet. */
export interface PendingCall {
  readonly id: JsonRpcId
  readonly method: string
  readonly era: McpEra
  readonly wire: WireMessage
  /** Resolves when the client has its answer, or no longer wants one. */
  readonly answered: Promise<void>
  /** When the server last gave a sign of life, by the clock on the wall in milliseconds. */
  heardAtMs: number
  /** Undefined while the call waits for its turn. */
  carrier: CallCarrier | undefined
  /** Ends what is done for it at the server. */
  abort: AbortController
}

/** Takes a call to the server. */
export interface CallCarrier {
  /** It opens a subscription again by itself. */
  readonly keepsSubscriptions: boolean
  /** Tells the server, as far as that is done by a message, that nobody wants the answer any more. */
  cancel(notice: WireMessage): Promise<void>
  /** Forgets the call, which is made again. */
  drop(call: PendingCall): void
}

interface OpenCall extends PendingCall {
  readonly deliver: Context['deliver']
  readonly start: () => void
  readonly settle: () => void
}

export interface PendingCallsPorts {
  write(message: WireMessage): Promise<void>
  describeFailure: DescribeFailure
  /** The clock on the wall, in milliseconds. */
  wallMs(): number
  note(text: string): void
}

/** Answers each request of the client exactly once, or never if the client has cancelled it. */
export class PendingCalls implements Step<ClientContext> {
  readonly #ports: PendingCallsPorts
  readonly #calls = new Map<JsonRpcId, OpenCall>()

  constructor(ports: PendingCallsPorts) {
    this.#ports = ports
  }

  send(message: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const { envelope } = message
    if (envelope.kind === 'request') return this.#open(message, envelope, context, next)
    if (envelope.kind === 'notification' && envelope.method === 'notifications/cancelled')
      return this.#cancel(message)
    return next(message, context).catch(() => this.#ports.note('the server did not take a message'))
  }

  get(id: JsonRpcId): PendingCall | undefined {
    return this.#calls.get(id)
  }

  calls(): PendingCall[] {
    return [...this.#calls.values()]
  }

  isOpen(call: PendingCall): boolean {
    return this.#calls.get(call.id) === call
  }

  /** Delivers a message that belongs to no call, or whose call only its id tells. */
  async unsolicited(message: WireMessage): Promise<void> {
    const { envelope } = message
    if (envelope.kind === 'request' || envelope.kind === 'notification') return this.#ports.write(message)
    const call = envelope.kind === 'response' ? this.#calls.get(envelope.id) : undefined
    if (call !== undefined) await this.#answer(call, message)
  }

  /** Answers a call with what went wrong: in the server's own words if it had any. */
  fail(call: PendingCall, error: unknown): void {
    const open = this.#calls.get(call.id)
    if (open !== call) return
    const theirs = error instanceof TransportError ? error.response : undefined
    void this.#answer(open, (theirs && withId(theirs, call.id)) ?? this.#describe(call.id, error))
  }

  /**
   * Sends a call again whose connection is gone, if the policy allows that; false if nothing can be done. A subscription is
   * opened again by its carrier, or it ends: the client has to know that it may have missed something.
   */
  repeat(call: PendingCall): boolean {
    const { carrier } = call
    // It waits for its turn, and has no connection.
    if (carrier === undefined) return true
    if (isSubscription(call)) return carrier.keepsSubscriptions
    const open = this.#calls.get(call.id)
    if (open !== call || !mayRepeat('slept', call.wire.envelope)) return false
    carrier.drop(call)
    call.abort.abort()
    call.abort = new AbortController()
    open.start()
    return true
  }

  close(): void {
    for (const call of this.#calls.values()) this.#end(call)
  }

  #open(
    message: WireMessage,
    { id, method }: { id: JsonRpcId; method: string },
    context: ClientContext,
    next: Send<ClientContext>,
  ): Promise<void> {
    if (this.#calls.has(id)) {
      const reason = 'A request with this id has no answer yet.'
      return refuse(context, id, jsonRpcCode.invalidRequest, reason)
    }
    let settle = (): void => {}
    const answered = new Promise<void>((resolve) => (settle = resolve))
    const call: OpenCall = {
      id,
      method,
      era: context.era,
      wire: message,
      answered,
      heardAtMs: 0,
      carrier: undefined,
      abort: new AbortController(),
      deliver: context.deliver,
      settle: () => settle(),
      start: () => void this.#run(call, context, next),
    }
    this.#calls.set(id, call)
    call.start()
    return answered
  }

  async #run(call: OpenCall, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const { signal } = call.abort
    call.heardAtMs = this.#ports.wallMs()
    const deliver = (message: WireMessage): Promise<void> => this.#deliver(call, message)
    try {
      await next(call.wire, { ...context, call, signal, deliver })
      if (this.isOpen(call) && !signal.aborted)
        this.fail(call, new TransportError('lost', 'The server ended without an answer.'))
    } catch (error) {
      if (!signal.aborted) this.fail(call, error)
    }
  }

  async #deliver(call: OpenCall, message: WireMessage): Promise<void> {
    const { envelope } = message
    call.heardAtMs = this.#ports.wallMs()
    if (envelope.kind === 'request' || envelope.kind === 'notification') return this.#ports.write(message)
    if (envelope.kind === 'response' && envelope.id === call.id) return this.#answer(call, message)
    this.#ports.note(
      envelope.kind === 'response'
        ? 'The server answered a request that was not asked there.'
        : 'The server sent something that is no message.',
    )
  }

  async #answer(call: OpenCall, message: WireMessage): Promise<void> {
    if (!this.isOpen(call)) return
    this.#calls.delete(call.id)
    try {
      const delivered = call.deliver(message)
      call.settle()
      await delivered
    } catch (error) {
      // What cannot be filtered is not shown.
      await call.deliver(this.#describe(call.id, error))
      call.settle()
    }
  }

  /** A call that is over needs no cancelling, and a server that is told nevertheless may take it for another one. */
  async #cancel(message: WireMessage): Promise<void> {
    const parsed = parseWireMessage(message)
    const id = 'method' in parsed ? parsed.params?.['requestId'] : undefined
    const call = typeof id === 'string' || typeof id === 'number' ? this.#calls.get(id) : undefined
    if (call === undefined) return
    this.#calls.delete(call.id)
    call.settle()
    await call.carrier?.cancel(message).catch(() => {})
    call.abort.abort()
  }

  #end(call: OpenCall): void {
    this.#calls.delete(call.id)
    call.settle()
    call.abort.abort()
  }

  #describe(id: JsonRpcId, error: unknown): WireMessage {
    const { code, message, data } = this.#ports.describeFailure(error)
    return toWireMessage(jsonRpcError(id, code, message, data))
  }
}

export async function refuse(
  context: Context,
  id: JsonRpcId | null,
  code: number,
  reason: string,
): Promise<void> {
  await context.deliver(toWireMessage(jsonRpcError(id, code, reason)))
}

/** The error of a server that could not give it an id, because it did not read that far, under the id that it is for. */
function withId(response: WireMessage, id: JsonRpcId): WireMessage | undefined {
  const { envelope } = response
  if (envelope.kind === 'response' && envelope.id === id) return response
  const body = parseJsonObject(response.text)
  const error = body?.['error']
  if (!isJsonObject(error) || typeof error['code'] !== 'number' || typeof error['message'] !== 'string')
    return undefined
  const { code, message } = error
  return toWireMessage({ ...body, jsonrpc: '2.0', id, error: { ...error, code, message } })
}
