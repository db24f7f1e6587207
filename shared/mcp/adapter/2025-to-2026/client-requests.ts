import { encodeBase64url } from '../../../base64url.ts'
import type { JsonObject } from '../../../json-object.ts'
import { isJsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcId, JsonRpcResponse } from '../../json-rpc.ts'
import { CallError } from '../call-error.ts'
import { maxInputSeconds } from '../input-required.ts'
import type { InputRequest } from '../input-required.ts'
import type { Deadlines } from '../deadlines.ts'
import type { AdapterRuntime, ClientPort } from '../ports.ts'

/** Sends requests to a 2025 client, and matches its responses. */
export class ClientRequests {
  readonly #client: ClientPort
  readonly #runtime: Pick<AdapterRuntime, 'randomBytes'>
  readonly #deadlines: Deadlines
  /** Settles the open requests, by their id. */
  readonly #open = new Map<unknown, (outcome: JsonObject | CallError) => void>()
  /** Random, so that a response to a request of somebody else matches none of these. */
  readonly #idPrefix: string
  #lastId = 0
  #isClosed = false

  constructor(client: ClientPort, runtime: Pick<AdapterRuntime, 'randomBytes'>, deadlines: Deadlines) {
    this.#client = client
    this.#runtime = runtime
    this.#deadlines = deadlines
    this.#idPrefix = encodeBase64url(runtime.randomBytes(6))
  }

  /**
   * The result of the client. Rejects with {@link CallError} when it responds with an error or not in time, and with the reason
   * of the signal. A request that ends early is cancelled by `notifications/cancelled`.
   */
  async request(request: InputRequest, signal: AbortSignal): Promise<JsonObject> {
    signal.throwIfAborted()
    this.#lastId += 1
    const id = `${this.#idPrefix}-${this.#lastId}`
    const outcome = await new Promise<JsonObject | CallError>((resolve, reject) => {
      const onAbort = (): void => {
        this.#cancel(id, 'The answer is no longer needed.')
        reject(signal.reason)
      }
      const settle = (value: JsonObject | CallError): void => {
        clearDeadline()
        signal.removeEventListener('abort', onAbort)
        resolve(value)
      }
      const clearDeadline = this.#deadlines.after(maxInputSeconds, () => {
        this.#cancel(id, 'The answer did not arrive in time.')
        settle(
          new CallError(jsonRpcCode.internalError, `The client did not answer ${request.method} in time.`),
        )
      })
      signal.addEventListener('abort', onAbort, { once: true })
      this.#open.set(id, settle)
      this.#send(id, request).catch(reject)
    })
    if (outcome instanceof CallError) throw outcome
    return outcome
  }

  /** Ignores a response that matches no open request. */
  onResponse(response: JsonRpcResponse): void {
    const settle = this.#open.get(response.id)
    this.#open.delete(response.id)
    settle?.(readResponse(response))
  }

  /** Drops all requests and sends nothing more. */
  close(): void {
    this.#isClosed = true
    this.#open.clear()
  }

  async #send(id: JsonRpcId, request: InputRequest): Promise<void> {
    const params = withElicitationId(request, this.#runtime)
    await this.#client.send({ jsonrpc: '2.0', id, method: request.method, ...(params && { params }) })
  }

  #cancel(requestId: JsonRpcId, reason: string): void {
    if (!this.#open.delete(requestId) || this.#isClosed) return
    const params = { requestId, reason }
    this.#client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => {})
  }
}

/** An error of the client ends the call: `inputResponses` has no place for errors. */
function readResponse(response: JsonRpcResponse): JsonObject | CallError {
  if ('error' in response) {
    const { code, message } = response.error
    return new CallError(jsonRpcCode.internalError, `The client refused the input request: ${message}`, {
      code,
    })
  }
  if (isJsonObject(response.result)) return response.result
  return new CallError(
    jsonRpcCode.internalError,
    'The client answered the input request with something other than an object.',
  )
}

/** 2025-11-25 requires `elicitationId` for URL mode; 2026-07-28 does not have it. */
function withElicitationId(
  { method, params }: InputRequest,
  runtime: Pick<AdapterRuntime, 'randomBytes'>,
): JsonObject | undefined {
  if (method !== 'elicitation/create' || params?.['mode'] !== 'url') return params
  return { elicitationId: encodeBase64url(runtime.randomBytes(16)), ...params }
}
