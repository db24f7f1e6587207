import { ProtocolError } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  jsonRpcCode,
  type JsonRpcId,
  type JsonRpcMessage,
  jsonRpcError,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'

/** A call that stays without any message for so long is given up: nobody waits for it any more. */
const maxSilenceMs = 30 * 60 * 1000

/** What the connection to a process needs. */
export interface ConnectionPorts {
  send: (message: JsonRpcMessage) => unknown
  onNotification: (method: string, params: JsonObject) => void
  /** Answers a request of the process. What it throws is the answer too. */
  onRequest: (method: string, params: JsonObject | undefined, signal: AbortSignal) => Promise<unknown>
}

/** How a request is sent. */
export interface ForwardOptions {
  signal?: AbortSignal
  /** Receives the parameters of progress notifications, with a token that is ours. */
  onProgress?: (params: JsonObject) => void
  /** Answered when the process ends it, whenever that is. */
  isLasting?: boolean
}

interface OpenRequest {
  settle: (outcome: { result: unknown } | { error: Error }) => void
  onProgress: ((params: JsonObject) => void) | undefined
  touch: () => void
}

/**
 * Requests to one process, and back. Each request gets an id that no other has, which is its progress token too: requests of
 * several clients that have the same ids and tokens stay apart. Results are passed on as they are.
 */
export class ProcessConnection {
  readonly #ports: ConnectionPorts
  readonly #open = new Map<JsonRpcId, OpenRequest>()
  /** The requests of the process that are being answered. */
  readonly #answering = new Map<JsonRpcId, AbortController>()
  #lastId = 0
  #failure: Error | undefined

  constructor(ports: ConnectionPorts) {
    this.#ports = ports
  }

  /**
   * The result of a request. Rejects with the process's error as a {@link ProtocolError}, with the reason of the signal, and with
   * that of {@link fail}.
   */
  async request(method: string, params: JsonObject, options: ForwardOptions = {}): Promise<unknown> {
    const { signal, onProgress, isLasting } = options
    signal?.throwIfAborted()
    if (this.#failure) throw this.#failure
    this.#lastId += 1
    const id = this.#lastId
    const cancel = (reason: string): void => {
      // A client must not cancel it (MCP 2025-11-25 cancellation).
      if (method !== 'initialize') this.notify('notifications/cancelled', { requestId: id, reason })
    }
    const answer = new Promise<unknown>((resolve, reject) => {
      const settle: OpenRequest['settle'] = (outcome) => {
        if (!this.#open.delete(id)) return
        clearTimeout(silence)
        signal?.removeEventListener('abort', onAbort)
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.result)
      }
      const onAbort = (): void => {
        cancel('The client no longer waits for the result.')
        settle({
          error: signal?.reason instanceof Error ? signal.reason : new Error('The call was cancelled.'),
        })
      }
      const giveUp = (): void => {
        cancel('Nothing came for half an hour.')
        settle({
          error: failure('The server sent nothing for half an hour, so the call was given up. Try again.'),
        })
      }
      const silence = isLasting ? undefined : setTimeout(giveUp, maxSilenceMs).unref()
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#open.set(id, { settle, onProgress, touch: () => void silence?.refresh() })
    })
    void this.#ports.send({ jsonrpc: '2.0', id, method, params: withProgressToken(params, id) })
    return answer
  }

  notify(method: string, params: JsonObject): void {
    if (!this.#failure) void this.#ports.send({ jsonrpc: '2.0', method, params })
  }

  /** Takes a message of the process. What belongs to no open request is dropped. */
  receive(message: JsonRpcMessage): void {
    if (!('method' in message)) this.#onResponse(message)
    else if ('id' in message) void this.#answer(message)
    else this.#onNotification(message.method, message.params ?? {})
  }

  /** Ends every open request with `error`, and each that comes from now on. */
  fail(error: Error): void {
    this.#failure ??= error
    for (const { settle } of this.#open.values()) settle({ error })
    for (const controller of this.#answering.values()) controller.abort(error)
  }

  #onResponse(response: JsonRpcResponse): void {
    const request = this.#open.get(response.id ?? '')
    if (!request) return
    if (!('error' in response)) {
      request.settle({ result: response.result })
      return
    }
    const { code, message, data } = response.error
    request.settle({ error: new ProtocolError(code, message, data) })
  }

  #onNotification(method: string, params: JsonObject): void {
    if (method === 'notifications/progress') {
      const request = this.#open.get(params[mcpMetaKey.progressToken] as JsonRpcId)
      request?.touch()
      request?.onProgress?.(params)
    } else if (method === 'notifications/cancelled') {
      this.#answering.get(params['requestId'] as JsonRpcId)?.abort(new Error('The server cancelled it.'))
    } else {
      this.#ports.onNotification(method, params)
    }
  }

  async #answer({ id, method, params }: JsonRpcRequest): Promise<void> {
    const controller = new AbortController()
    this.#answering.set(id, controller)
    let response: JsonRpcResponse
    try {
      const result = await this.#ports.onRequest(method, params, controller.signal)
      response = { jsonrpc: '2.0', id, result }
    } catch (error) {
      response = errorResponse(id, error)
    } finally {
      this.#answering.delete(id)
    }
    if (!controller.signal.aborted) void this.#ports.send(response)
  }
}

/** An error of ours for the client. `text` ends with the next step. */
export function failure(text: string): ProtocolError {
  return new ProtocolError(jsonRpcCode.internalError, text)
}

function errorResponse(id: JsonRpcId, error: unknown): JsonRpcResponse {
  return error instanceof ProtocolError
    ? jsonRpcError(id, error.code, error.message, error.data)
    : jsonRpcError(id, jsonRpcCode.internalError, 'The client did not answer.')
}

function withProgressToken(params: JsonObject, token: number): JsonObject {
  const meta = metaOf(params)
  return isJsonObject(params['_meta']) && mcpMetaKey.progressToken in meta
    ? { ...params, _meta: { ...meta, [mcpMetaKey.progressToken]: token } }
    : params
}
