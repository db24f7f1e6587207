import { parseExactJson, plainNumber } from '@drawbridge/shared/exact-json.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  type JsonRpcId,
  notJsonReason,
  parseWireMessage,
  splitBatch,
  toWireMessage,
  type WireMessage,
  withId,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { eraOfMessage, type McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Context, Send, Step } from '@drawbridge/shared/mcp/pipeline.ts'
import { mayRepeat } from '../http/retry.ts'
import { TransportError } from '../transport/transport.ts'
import type { ClientContext, PendingCall } from './pending-call.ts'

const batchRevision = '2025-03-26'

/** Part of every message that may be of 2026-07-28, however its JSON escapes a slash. */
const metaMark = 'io.modelcontextprotocol'

/**
 * Reads each message of the client: finds its revision, splits batches, rejects invalid messages and remembers the client's
 * `initialize`. Does not check parameters: the server does.
 */
export class ClientInput implements Step<ClientContext> {
  /** Unchanged, to open another session for the client. */
  initialize: { id: JsonRpcId; message: WireMessage; params: JsonObject } | undefined
  /** The client has sent `notifications/initialized` since. */
  isInitialized = false
  #hasModernClient = false

  send(message: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const { envelope } = message
    switch (envelope.kind) {
      case 'request':
        return next(message, { ...context, era: this.#readRequest(message, envelope) })
      case 'notification': {
        if (envelope.method === 'notifications/initialized') this.isInitialized = true
        // 2026-07-28 requires its `_meta` in requests only.
        const isModern = this.#hasModernClient && this.initialize === undefined
        return next(message, { ...context, era: isModern ? 'modern' : eraOf(message) })
      }
      case 'response':
        return next(message, context)
      case 'batch':
        return this.#readBatch(message, context, next)
      case 'invalid': {
        const { id, reason } = envelope
        return reason === notJsonReason
          ? refuse(context, id, jsonRpcCode.parseError, `The message is ${reason}.`)
          : refuse(context, id, jsonRpcCode.invalidRequest, `Invalid message: ${reason}.`)
      }
    }
  }

  #readRequest(message: WireMessage, { id, method }: { id: JsonRpcId; method: string }): McpEra {
    const era = eraOf(message)
    if (era === 'modern') this.#hasModernClient = true
    else if (method === 'initialize') {
      this.initialize = { id, message, params: paramsOf(message) ?? {} }
      this.isInitialized = false
    }
    return era
  }

  /** Answers the messages of a batch one by one: a client matches responses by their ids. */
  async #readBatch(batch: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const isAllowed = this.initialize?.params['protocolVersion'] === batchRevision
    const messages = isAllowed ? splitBatch(batch) : []
    const reason = isAllowed ? 'The batch is empty or too long.' : `Only ${batchRevision} has batches.`
    if (messages.length === 0) return refuse(context, null, jsonRpcCode.invalidRequest, reason)
    await Promise.all(messages.map((message) => this.send(message, context, next)))
  }
}

function eraOf(message: WireMessage): McpEra {
  return message.text.includes(metaMark) ? eraOfMessage(parseWireMessage(message)) : 'legacy'
}

export function paramsOf(message: WireMessage): JsonObject | undefined {
  const parsed = parseWireMessage(message)
  return 'method' in parsed ? parsed.params : undefined
}

export async function refuse(
  context: Context,
  id: JsonRpcId | null,
  code: number,
  reason: string,
): Promise<void> {
  await context.deliver(toWireMessage(jsonRpcError(id, code, reason)))
}

interface OpenCall extends PendingCall {
  readonly deliver: Context['deliver']
  readonly start: () => void
  readonly settle: () => void
}

export interface PendingCallsPorts {
  write(message: WireMessage): Promise<void>
  describeFailure: DescribeFailure
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

  /** Delivers a message that belongs to no call. Drops a response. */
  readonly unsolicited = async (message: WireMessage): Promise<void> => {
    const { kind } = message.envelope
    if (kind === 'request' || kind === 'notification') await this.#ports.write(message)
  }

  /** Answers a call with the server's own error, or else a description of the failure. */
  fail(call: PendingCall, error: unknown): void {
    const open = this.#calls.get(call.id)
    if (open !== call) return
    const theirs = error instanceof TransportError ? error.response : undefined
    void this.#answer(open, theirs === undefined ? this.#describe(call.id, error) : withId(theirs, call.id))
  }

  /**
   * Sends a call again whose connection is gone. Returns false if the policy forbids it: a subscription ends, so that the client
   * knows that it may have missed something.
   */
  repeat(call: PendingCall): boolean {
    // Not sent yet, so it has no connection.
    if (call.cancel === undefined) return true
    const open = this.#calls.get(call.id)
    if (open !== call || !mayRepeat('slept', call.wire.envelope)) return false
    call.abort.abort()
    call.abort = new AbortController()
    open.start()
    return true
  }

  close(): void {
    for (const call of this.#calls.values()) {
      this.#settle(call)
      call.abort.abort()
    }
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
      activeAtMs: 0,
      cancel: undefined,
      abort: new AbortController(),
      deliver: (answer) => context.deliver(withOwnId(answer, message)),
      settle,
      start: () => void this.#run(call, context, next),
    }
    this.#calls.set(id, call)
    call.start()
    return answered
  }

  async #run(call: OpenCall, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const { signal } = call.abort
    call.activeAtMs = Date.now()
    const deliver = (message: WireMessage): Promise<void> => this.#deliver(call, message)
    try {
      await next(call.wire, { ...context, call, signal, deliver })
      if (this.#calls.get(call.id) === call && !signal.aborted)
        this.fail(call, new TransportError('lost', 'The server ended without an answer.'))
    } catch (error) {
      if (!signal.aborted) this.fail(call, error)
    }
  }

  async #deliver(call: OpenCall, message: WireMessage): Promise<void> {
    const { envelope } = message
    call.activeAtMs = Date.now()
    if (envelope.kind === 'request' || envelope.kind === 'notification') return this.#ports.write(message)
    if (envelope.kind === 'response' && envelope.id === call.id) return this.#answer(call, message)
    this.#ports.note('dropped a response to another request')
  }

  async #answer(call: OpenCall, message: WireMessage): Promise<void> {
    if (this.#calls.get(call.id) !== call) return
    this.#calls.delete(call.id)
    try {
      const delivered = call.deliver(message)
      call.settle()
      await delivered
    } catch (error) {
      // Do not show a result that could not be filtered.
      await call.deliver(this.#describe(call.id, error))
      call.settle()
    }
  }

  /** Ignores the cancellation of a call that is over: the server could apply it to another one. */
  async #cancel(message: WireMessage): Promise<void> {
    const id = plainNumber(paramsOf(message)?.['requestId'])
    const call = typeof id === 'string' || typeof id === 'number' ? this.#calls.get(id) : undefined
    if (call === undefined) return
    this.#settle(call)
    await call.cancel?.(message).catch(() => {})
    call.abort.abort()
  }

  #settle(call: OpenCall): void {
    this.#calls.delete(call.id)
    call.settle()
  }

  #describe(id: JsonRpcId, error: unknown): WireMessage {
    const { code, message, data } = this.#ports.describeFailure(error)
    return toWireMessage(jsonRpcError(id, code, message, data))
  }
}

/** Restores the id as the client wrote it: numbers beyond 2^53 were rounded on the way. */
function withOwnId(answer: WireMessage, { text, envelope }: WireMessage): WireMessage {
  const isRounded =
    envelope.kind === 'request' && Number.isInteger(envelope.id) && !Number.isSafeInteger(envelope.id)
  if (!isRounded) return answer
  const [own, request] = [answer.text, text].map((each) => parseExactJson(each) as JsonObject)
  return { envelope: answer.envelope, text: JSON.stringify({ ...own, id: request?.['id'] }) }
}

/**
 * The initialize barrier: scripts write all their lines at once, and servers refuse messages that arrive before the session exists.
 * Pings (MCP 2025-11-25 lifecycle) and responses pass at any time.
 */
export class InitializeOrder implements Step<ClientContext> {
  #opening: Promise<void> | undefined

  send(message: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const { envelope } = message
    const isFree = envelope.kind === 'response' || (envelope.kind === 'request' && envelope.method === 'ping')
    if (isFree) return next(message, context)
    if (this.#opening !== undefined) return this.#sendLater(message, context, next)
    if (envelope.kind === 'request' && envelope.method === 'initialize')
      this.#opening = context.call?.answered.then(() => (this.#opening = undefined))
    return next(message, context)
  }

  /** Waiting messages go on in their order; the first may be another `initialize`. */
  async #sendLater(message: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    while (this.#opening !== undefined) await this.#opening
    if (context.signal?.aborted !== true) return this.send(message, context, next)
  }
}
