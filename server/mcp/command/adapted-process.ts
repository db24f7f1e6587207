import { setTimeout as sleep } from 'node:timers/promises'
import { Adapter } from '@drawbridge/shared/mcp/adapter/adapter.ts'
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Context } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Incoming } from '../incoming.ts'
import type { ProcessSlot, SlotClient } from './process-slot.ts'

export interface CallContext extends Context<JsonRpcMessage> {
  readonly incoming: Incoming
  /** Aborted when the client no longer waits for the response. */
  readonly signal: AbortSignal
}

/** A process of 2026-07-28 as one client of an earlier revision sees it, by the adapter. */
export class AdaptedProcess {
  readonly #adapter: Adapter
  readonly #slot: ProcessSlot

  constructor(client: SlotClient, slot: ProcessSlot) {
    const { runtime } = slot
    this.#slot = slot
    this.#adapter = new Adapter({
      notify: (notification) => client.send(notification),
      request: (method, params, options) => slot.request(method, params, options),
      discovered: slot.presentationFor(client.kind),
      runtime: {
        now: () => runtime.now(),
        randomBytes: (length) => runtime.randomBytes(length),
        sleep: (ms) => sleep(ms, undefined, { ref: false }),
      },
    })
  }

  /** Resolves when the response is delivered. Rejects as {@link Adapter.request} does. */
  async send(request: JsonRpcRequest, context: CallContext): Promise<void> {
    // A shared process is not to know what one of its clients can be asked.
    const { declared: capabilities = {} } = this.#slot
    const isFirst = request.method === 'initialize'
    const params = isFirst ? { ...request.params, capabilities } : request.params
    const result = await this.#adapter.request({ ...request, ...(params && { params }) }, context)
    await context.deliver({ jsonrpc: '2.0', id: request.id, result })
  }

  /** Takes a notification or a response of the client. */
  pass(message: JsonRpcNotification | JsonRpcResponse): void {
    this.#adapter.receive(message)
  }

  close(): void {
    this.#adapter.close()
  }
}
