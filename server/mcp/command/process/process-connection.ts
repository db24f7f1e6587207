import { createSignal } from '@drawbridge/shared/async.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { CallError } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import {
  jsonRpcCode,
  type JsonRpcErrorObject,
  type JsonRpcId,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { requestId, unreadable } from './process-output.ts'

/** Gives a call up after this long without any message: no client waits longer. */
const maxSilenceMs = 30 * 60 * 1000

export interface ProcessClients {
  /** The capabilities that each has declared; undefined when none can be asked. */
  readonly declared: JsonObject | undefined
  onNotification(notification: JsonRpcNotification): void
  /** Takes a request of the process. `answer` sends the response. */
  onRequest(request: JsonRpcRequest, answer: (response: JsonRpcResponse) => void): void
}

export interface ForwardOptions {
  signal?: AbortSignal
  /** Receives the notifications of this request: its progress, or the changes of a subscription. */
  onMessage?: (notification: JsonRpcNotification) => unknown
  /** True for a subscription, which has no answer until the process ends it. */
  isLasting?: boolean
}

type Outcome = { result: unknown } | { error: Error }

interface OpenRequest {
  isLasting: boolean
  outcome: Promise<Outcome>
  settle: (outcome: Outcome) => void
  onMessage: (notification: JsonRpcNotification) => void
}

/**
 * Requests to one process, and back. Each request gets an id that no other has, which is its progress token too: requests of
 * several clients that have the same ids and tokens stay apart. Results are passed on as they are.
 */
export class ProcessConnection {
  readonly #write: (message: JsonRpcMessage) => void
  /** Undefined for a trial start, which serves no client. */
  readonly #clients: Pick<ProcessClients, 'onNotification' | 'onRequest'> | undefined
  readonly #open = new Map<number, OpenRequest>()
  readonly #asked = new Set<JsonRpcId>()
  /** The last requests that were sent before each error that names none. */
  #unnamed: number[] = []
  #notifiedAfter = 0
  #lastAnswered = 0
  #lastId = 0
  #failure: Error | undefined

  constructor(
    write: (message: JsonRpcMessage) => void,
    clients: Pick<ProcessClients, 'onNotification' | 'onRequest'> | undefined,
  ) {
    this.#write = write
    this.#clients = clients
  }

  /**
   * The result of a request. Rejects with the process's error as a {@link CallError}, with the reason of the signal, or with
   * the error given to {@link fail}.
   */
  async request(method: string, params: JsonObject, options: ForwardOptions = {}): Promise<unknown> {
    const { signal, onMessage, isLasting = false } = options
    signal?.throwIfAborted()
    if (this.#failure) throw this.#failure
    this.#lastId += 1
    const id = this.#lastId
    const cancel = (reason: string): void => {
      // A client must not cancel it (MCP 2025-11-25 cancellation).
      if (method !== 'initialize') this.notify('notifications/cancelled', { requestId: id, reason })
    }
    const { given: outcome, give } = createSignal<Outcome>()
    const settle: OpenRequest['settle'] = (settled) => {
      if (!this.#open.delete(id)) return
      clearTimeout(silence)
      signal?.removeEventListener('abort', onAbort)
      give(settled)
      this.#failUnnamed()
    }
    const onAbort = (): void => {
      cancel('The client no longer waits for the result.')
      const { reason } = signal ?? {}
      settle({ error: reason instanceof Error ? reason : new Error('The call was cancelled.') })
    }
    const giveUp = (): void => {
      cancel('Nothing came for half an hour.')
      settle({
        error: failure('The server sent nothing for half an hour, so the call was given up. Try again.'),
      })
    }
    const silence = isLasting ? undefined : setTimeout(giveUp, maxSilenceMs).unref()
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#open.set(id, {
      isLasting,
      outcome,
      settle,
      onMessage: ({ method: name, params: given }) => {
        silence?.refresh()
        const token = isLasting ? {} : { progressToken: metaOf(params)[mcpMetaKey.progressToken] }
        onMessage?.({ jsonrpc: '2.0', method: name, params: { ...given, ...token } })
      },
    })
    this.#write({ jsonrpc: '2.0', id, method, params: withProgressToken(params, id) })
    const settled = await outcome
    if ('error' in settled) throw settled.error
    return settled.result
  }

  /** Resolves when each request that is open now has ended, lasting ones aside. */
  async settled(): Promise<void> {
    const open = [...this.#open.values()].filter(({ isLasting }) => !isLasting)
    await Promise.all(open.map(({ outcome }) => outcome))
  }

  notify(method: string, params: JsonObject): void {
    this.#notifiedAfter = this.#lastId
    if (!this.#failure) this.#write({ jsonrpc: '2.0', method, params })
  }

  /**
   * Fails the request whose answer cannot be read; null if that names none, as one does with an id that no request had. What belongs to
   * no open request is dropped.
   */
  failAnswer(id: number | null, text: string = unreadable.message): void {
    if (id !== null && this.#isGivenOut(id)) this.#open.get(id)?.settle({ error: failure(text) })
    else this.#onUnnamed()
  }

  /** Takes a message of the process. What belongs to no open request is dropped; returns false for such an answer. */
  receive(message: JsonRpcMessage): boolean {
    if (!('method' in message)) return this.#onResponse(message)
    if ('id' in message) this.#onRequest(message)
    else this.#onNotification(message)
    return true
  }

  /** Ends every open request with `error`, and each that comes from now on. */
  fail(error: Error): void {
    this.#failure ??= error
    for (const { settle } of this.#open.values()) settle({ error })
    for (const requestId of this.#asked) {
      this.#asked.delete(requestId)
      this.#clients?.onNotification({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId },
      })
    }
  }

  #onResponse(response: JsonRpcResponse): boolean {
    const { id } = response
    if (typeof id !== 'number') {
      this.#onUnnamed('error' in response ? response.error.code : undefined)
      return true
    }
    const request = this.#open.get(id)
    if (!request) return false
    this.#lastAnswered = Math.max(this.#lastAnswered, id)
    if ('error' in response) {
      const { code, message, data } = response.error
      request.settle({ error: new CallError(code, message, data) })
    } else request.settle({ result: response.result })
    return true
  }

  /** An answer to one of the open requests, or to a notification: some servers answer those that they do not know. */
  #onUnnamed(code?: number): void {
    const isOfNotification = code === jsonRpcCode.methodNotFound && this.#lastAnswered <= this.#notifiedAfter
    if (!isOfNotification) this.#unnamed.push(this.#lastId)
    this.#failUnnamed()
  }

  /** Fails the requests that nothing but the unnamed answers can have answered. Whose a result is would be a guess. */
  #failUnnamed(): void {
    const last = this.#unnamed.at(-1)
    if (last === undefined) return
    const candidates = [...this.#open].filter(([id, { isLasting }]) => !isLasting && id <= last)
    if (candidates.length > this.#unnamed.length) return
    this.#unnamed = []
    for (const [id] of candidates) this.failAnswer(id)
  }

  #isGivenOut(id: number): boolean {
    return Number.isInteger(id) && id > 0 && id <= this.#lastId
  }

  #onRequest(request: JsonRpcRequest): void {
    const answer = (response: JsonRpcResponse): void => {
      this.#asked.delete(request.id)
      if (!this.#failure) this.#write(response)
    }
    this.#asked.add(request.id)
    if (request.method === 'ping') answer({ jsonrpc: '2.0', id: request.id, result: {} })
    else this.#clients?.onRequest(request, answer)
  }

  #onNotification(notification: JsonRpcNotification): void {
    const { method, params } = notification
    const isProgress = method === 'notifications/progress'
    const token = isProgress ? params?.['progressToken'] : metaOf(params)[mcpMetaKey.subscriptionId]
    if (!isProgress && token === undefined) return this.#clients?.onNotification(notification)
    const request = this.#open.get(requestId(token) ?? 0)
    if (request?.isLasting === !isProgress) request.onMessage(notification)
  }
}

/** An error of ours for the client. `text` ends with the next step. */
export function failure(text: string): CallError {
  return new CallError(jsonRpcCode.internalError, text)
}

/** The error for any failure but an error of the process or of this server. */
export function describeFailure(): JsonRpcErrorObject {
  return { code: jsonRpcCode.internalError, message: 'The call was cancelled. Start it again.' }
}

function withProgressToken(params: JsonObject, token: number): JsonObject {
  const meta = metaOf(params)
  return mcpMetaKey.progressToken in meta
    ? { ...params, _meta: { ...meta, [mcpMetaKey.progressToken]: token } }
    : params
}
