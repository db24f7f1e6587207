import { createSignal, settledWithin, type Signal } from '../../async.ts'
import { encodeBase64url } from '../../base64url.ts'
import { type JsonObject, isJsonObject } from '../../json-object.ts'
import { jsonRpcCode, type JsonRpcId, type JsonRpcResponse } from '../json-rpc.ts'
import { CallError } from './call-error.ts'
import { maxInputSeconds, type InputRequest } from './input-required.ts'
import type { AdapterPorts, AdapterRuntime, ClientCall } from './ports.ts'

/** Sends requests to a 2025 client, and matches its responses. */
export class ClientRequests {
  readonly #notify: AdapterPorts['notify']
  readonly #runtime: AdapterRuntime
  readonly #open = new Map<unknown, Signal<JsonRpcResponse>>()
  /** Random, so that responses to other requests do not match. */
  readonly #idPrefix: string
  #lastId = 0

  constructor(notify: AdapterPorts['notify'], runtime: AdapterRuntime) {
    this.#notify = notify
    this.#runtime = runtime
    this.#idPrefix = encodeBase64url(runtime.randomBytes(6))
  }

  /**
   * Asks the client on behalf of a call, and returns its result. Rejects with {@link CallError} when it responds with an error or
   * not in time, and with the reason of the signal. A request that ends early is cancelled by `notifications/cancelled`.
   */
  async request(request: InputRequest, call: ClientCall, signal: AbortSignal): Promise<JsonObject> {
    signal.throwIfAborted()
    this.#lastId += 1
    const id = `${this.#idPrefix}-${this.#lastId}`
    const { method } = request
    const params = withElicitationId(request, this.#runtime)
    const answer = createSignal<JsonRpcResponse>()
    this.#open.set(id, answer)
    try {
      await call.deliver({ jsonrpc: '2.0', id, method, ...(params && { params }) })
      const end = await settledWithin(answer.given, maxInputSeconds * 1000, { signal })
      signal.throwIfAborted()
      if (end === 'done') return readResponse(await answer.given)
      throw new CallError(jsonRpcCode.internalError, `The client did not answer ${method} in time.`)
    } finally {
      this.#cancel(id)
    }
  }

  /** Ignores a response that matches no open request. */
  onResponse(response: JsonRpcResponse): void {
    const answer = this.#open.get(response.id)
    this.#open.delete(response.id)
    answer?.give(response)
  }

  /** Cancels a request that has no answer. */
  #cancel(requestId: JsonRpcId): void {
    if (!this.#open.delete(requestId)) return
    const params = { requestId, reason: 'The answer is no longer needed.' }
    void this.#notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  }
}

/** Throws {@link CallError} for an error of the client: `inputResponses` has no place for errors. */
function readResponse(response: JsonRpcResponse): JsonObject {
  if (!('error' in response)) {
    if (isJsonObject(response.result)) return response.result
    throw new CallError(
      jsonRpcCode.internalError,
      'The client answered the input request with something other than an object.',
    )
  }
  const { code, message } = response.error
  throw new CallError(jsonRpcCode.internalError, `The client refused the input request: ${message}`, { code })
}

/** 2025-11-25 requires `elicitationId` for URL mode; 2026-07-28 does not have it. */
function withElicitationId(
  { method, params }: InputRequest,
  runtime: Pick<AdapterRuntime, 'randomBytes'>,
): JsonObject | undefined {
  if (method !== 'elicitation/create' || params?.['mode'] !== 'url') return params
  return { elicitationId: encodeBase64url(runtime.randomBytes(16)), ...params }
}
