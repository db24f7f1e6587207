import { setTimeout as sleep } from 'node:timers/promises'
import { createSignal } from '@drawbridge/shared/async.ts'
import { createAdapter } from '@drawbridge/shared/mcp/adapter/adapter.ts'
import { CallError } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import type { Adapter, Server2026 } from '@drawbridge/shared/mcp/adapter/ports.ts'
import {
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Context } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Incoming } from '../incoming.ts'
import { describeFailure } from './process/process-connection.ts'
import type { ProcessSlot, SlotClient } from './process-slot.ts'

export interface CallContext extends Context<JsonRpcMessage> {
  readonly incoming: Incoming
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal
}

interface AdaptedCall {
  deliver: CallContext['deliver']
  end: () => void
}

/** A process of 2026-07-28 as one client of an earlier revision sees it, by the adapter. */
export class AdaptedProcess {
  readonly #adapter: Adapter
  readonly #client: SlotClient
  readonly #slot: ProcessSlot
  readonly #calls = new Map<JsonRpcId, AdaptedCall>()

  constructor(client: SlotClient, slot: ProcessSlot) {
    const { runtime } = slot
    this.#client = client
    this.#slot = slot
    this.#adapter = createAdapter({
      client: { send: async (message, relatedTo) => this.#deliver(message, relatedTo) },
      server: serverOf(slot),
      discovered: slot.presentationFor(client.kind),
      describeFailure,
      runtime: {
        now: () => runtime.now(),
        randomBytes: (length) => runtime.randomBytes(length),
        sleep: (ms) => sleep(ms, undefined, { ref: false }),
      },
    })
  }

  /** Resolves when the request has its response, or its signal is aborted. */
  async send(request: JsonRpcRequest, { signal, deliver }: CallContext): Promise<void> {
    const { given: ended, give: end } = createSignal()
    this.#calls.set(request.id, { deliver, end })
    signal.addEventListener('abort', () => end(), { once: true })
    // A shared process is not to know what one of its clients can be asked.
    const { declared: capabilities = {} } = this.#slot
    const isFirst = request.method === 'initialize'
    this.pass(isFirst ? { ...request, params: { ...request.params, capabilities } } : request)
    await ended
    this.#calls.delete(request.id)
  }

  /** Takes a notification or a response of the client. */
  pass(message: JsonRpcMessage): void {
    void this.#adapter.receive(message)
  }

  close(): void {
    void this.#adapter.close()
  }

  async #deliver(message: JsonRpcMessage, relatedTo: JsonRpcId | undefined): Promise<void> {
    const isResponse = !('method' in message)
    const call = this.#calls.get((isResponse ? message.id : relatedTo) ?? '')
    if (call) await call.deliver(message)
    else if (!isResponse) await this.#client.send(message)
    if (isResponse) call?.end()
  }
}

function serverOf(slot: ProcessSlot): Server2026 {
  return {
    request: async ({ id, method, params = {} }, options) => {
      return { jsonrpc: '2.0', id, result: await slot.request(method, params, options) }
    },
    errorResponse: (error) =>
      error instanceof CallError ? jsonRpcError(null, error.code, error.message, error.data) : undefined,
  }
}
