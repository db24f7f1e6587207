import { createSignal, unlessAborted } from '../../async.ts'
import { encodeBase64url } from '../../base64url.ts'
import { type JsonObject, isJsonObject } from '../../json-object.ts'
import { jsonRpcCode, type JsonRpcId, type JsonRpcResponse } from '../json-rpc.ts'
import { CallError } from './call-error.ts'
import { maxInputSeconds, type InputRequest } from './input-required.ts'
import { after } from './deadline.ts'
import type { AdapterRuntime, ClientPort } from './ports.ts'

/** Sends requests to a 2025 client, and matches its responses. */
export class ClientRequests {
  readonly #client: ClientPort
  readonly #runtime: AdapterRuntime
  /** Takes the response to each open request, or undefined when the time is up. */
  readonly #open = new Map<unknown, (response: JsonRpcResponse | undefined) => void>()
  /** Random, so that responses to other requests do not match. */
  readonly #idPrefix: string
  #lastId = 0

  constructor(client: ClientPort, runtime: AdapterRuntime) {
    this.#client = client
    this.#runtime = runtime
    this.#idPrefix = encodeBase64url(runtime.randomBytes(6))
  }

  /**
   * Asks the client on behalf of the call `relatedTo`, and returns its result. Rejects with {@link CallError} when it responds
   * with an error or not in time, and with the reason of the signal. A request that ends early is cancelled by
   * `notifications/cancelled`.
   */
  async request(request: InputRequest, relatedTo: JsonRpcId, signal: AbortSignal): Promise<JsonObject> {
    signal.throwIfAborted()
    this.#lastId += 1
    const id = `${this.#idPrefix}-${this.#lastId}`
    const answer = createSignal<JsonRpcResponse | undefined>()
    this.#open.set(id, answer.give)
    const clearDeadline = after(this.#runtime, maxInputSeconds, () => answer.give(undefined))
    try {
      const answered = this.#send(id, request, relatedTo).then(() => answer.given)
      const response = await unlessAborted(answered, signal)
      if (response !== undefined) return readResponse(response)
      throw new CallError(jsonRpcCode.internalError, `The client did not answer ${request.method} in time.`)
    } finally {
      clearDeadline()
      this.#cancel(id)
    }
  }

  /** Ignores a response that matches no open request. */
  onResponse(response: JsonRpcResponse): void {
    const give = this.#open.get(response.id)
    this.#open.delete(response.id)
    give?.(response)
  }

  /** Drops all requests and sends nothing more. */
  close(): void {
    this.#open.clear()
  }

  async #send(id: JsonRpcId, request: InputRequest, relatedTo: JsonRpcId): Promise<void> {
    const params = withElicitationId(request, this.#runtime)
    const message = { jsonrpc: '2.0', id, method: request.method, ...(params && { params }) } as const
    await this.#client.send(message, relatedTo)
  }

  /** Tells the client that a request without an answer has ended. */
  #cancel(requestId: JsonRpcId): void {
    if (!this.#open.delete(requestId)) return
    const params = { requestId, reason: 'The answer is no longer needed.' }
    this.#client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => {})
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
