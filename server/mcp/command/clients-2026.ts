import { setTimeout as sleep } from 'node:timers/promises'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { createAdapterFrom2026To2025 } from '@drawbridge/shared/mcp/adapter/2026-to-2025/adapter.ts'
import { CallError } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import { inputMethods } from '@drawbridge/shared/mcp/adapter/input-required.ts'
import type {
  Adapter,
  AdapterRuntime,
  ClientPort,
  RequestOptions,
  Session2025,
} from '@drawbridge/shared/mcp/adapter/ports.ts'
import {
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { describeFailure } from './process/process-connection.ts'
import type { AdaptedClients, ProcessSlot } from './process-slot.ts'

/**
 * The clients of 2026-07-28 of a process of an earlier revision, by one adapter for all: a call that asks its client outlives the
 * request, and the retry comes as a message of its own.
 */
export class ClientsOf2026 implements AdaptedClients {
  readonly #slot: ProcessSlot
  readonly #open = new Map<JsonRpcId, { client: ClientPort; id: JsonRpcId }>()
  readonly #adapter: Adapter
  #lastId = 0

  constructor(slot: ProcessSlot) {
    this.#slot = slot
    this.#adapter = createAdapterFrom2026To2025({
      client: { send: (message, relatedTo) => this.#send(message, relatedTo) },
      server: { errorResponse: () => undefined, open: async () => sessionOf(slot) },
      describeFailure,
      runtime: adapterRuntime(slot),
      warn() {},
    })
  }

  /** Takes the requests of a client, whose ids other clients may have too. */
  connect(client: ClientPort): Pick<Adapter, 'receive' | 'close'> {
    return {
      receive: async (message) => {
        if (!('method' in message) || !('id' in message)) return
        this.#lastId += 1
        this.#open.set(this.#lastId, { client, id: message.id })
        const params = this.#withDeclared(message.params)
        await this.#adapter.receive({ ...message, id: this.#lastId, params })
      },
      close: async () => {
        for (const [requestId, open] of this.#open) {
          if (open.client !== client) continue
          this.#open.delete(requestId)
          const params = { requestId }
          await this.#adapter.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
        }
      },
    }
  }

  close(): void {
    void this.#adapter.close()
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
    const capabilities = this.#slot.declared ?? {}
    return { ...params, _meta: { ...metaOf(params), [mcpMetaKey.clientCapabilities]: capabilities } }
  }
}

/** The process as the one session of an adapter: it was initialized at its start. */
function sessionOf(slot: ProcessSlot): Session2025 {
  return {
    initialized: slot.greeted.presentation,
    async request(message, options = {}) {
      const { id, method, params } = message
      if (method === 'logging/setLevel') {
        await slot.lowerLogLevel(params?.['level'])
        return { jsonrpc: '2.0', id, result: {} }
      }
      const { onMessage } = options
      if (!onMessage || !inputMethods.has(method)) return respond(message, slot, options)
      const call: ClientPort = { send: async (asked) => onMessage(asked) }
      slot.askable.add(call)
      try {
        return await respond(message, slot, options)
      } finally {
        slot.askable.delete(call)
      }
    },
    // The only one is of a cancellation, which the signal of the request brings too.
    async notify() {},
    answer: async (response) => void slot.questions.answer(response),
    async close() {},
  }
}

/** The response of the process to a request of an adapter: its error is one too. */
export async function respond(
  { id, method, params = {} }: JsonRpcRequest,
  slot: ProcessSlot,
  { signal, onMessage }: RequestOptions = {},
): Promise<JsonRpcResponse> {
  const onProgress = (progress: JsonObject): void =>
    void onMessage?.({ jsonrpc: '2.0', method: 'notifications/progress', params: progress })
  try {
    const result = await slot.request(method, params, { ...(signal && { signal }), onProgress })
    return { jsonrpc: '2.0', id, result }
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return jsonRpcError(id, error.code, error.message, error.data)
  }
}

export function adapterRuntime({ runtime }: ProcessSlot): AdapterRuntime {
  return {
    now: () => runtime.now(),
    randomBytes: (length) => runtime.randomBytes(length),
    sleep: (ms) => sleep(ms, undefined, { ref: false }),
  }
}
