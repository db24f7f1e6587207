import { canonicalJson, type JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type {
  JsonRpcErrorObject,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
} from '../../json-rpc.ts'
import { mcpErrorCode } from '../../mcp-protocol.ts'
import { CallError, errorObject, resultObject, toError2026 } from '../call-error.ts'
import { missingCapability, neededCapability } from '../capabilities.ts'
import type { ClientCall } from '../client-calls.ts'
import { inputMethods } from '../input-required.ts'
import { metaOf } from '../../params.ts'
import type { AdapterRuntime, DescribeFailure } from '../ports.ts'
import { isChangeNotification } from '../subscription-filter.ts'
import type { Claims } from './claims.ts'
import { InputRequests, maxInputRequests, toInputRequest, urlElicitations } from './input-requests.ts'
import { isWantedLog, toNotification2026 } from './notification.ts'
import type { PendingResult, PendingResults } from './pending-results.ts'
import { toResult2026, withServerInfo } from './result.ts'
import type { UpstreamSession } from './sessions.ts'

/** The request of the client that a server call answers next. */
export interface ClientRequest {
  call: ClientCall
  claims: Claims
}

export interface ServerCallPorts {
  session: UpstreamSession
  pendingResults: PendingResults<ServerCall>
  runtime: Pick<AdapterRuntime, 'sleep'>
  describeFailure: DescribeFailure
  /** Receives change notifications, which belong to the subscriptions. */
  onChange(notification: JsonRpcNotification): void | Promise<void>
  /** Called with the name of each tool that is left out of a list. */
  onHiddenTool(toolName: unknown): void
  /** All calls that are not over; a call adds and removes itself. */
  active: Set<ServerCall>
}

type Outcome = { response: JsonRpcResponse } | { failure: unknown }

/** A server sends requests that belong together as single messages; wait for them, because clients limit the number of rounds. */
const gatherMs = 10

/**
 * One call to a 2025 server. It outlives the request that began it: while the server waits for input, the client has
 * received `input_required`, and its retry continues the call.
 */
export class ServerCall implements PendingResult {
  readonly session: UpstreamSession
  /** Whether the client can be asked for input on behalf of this call. */
  readonly takesInput: boolean
  readonly #method: string
  readonly #params: JsonObject
  readonly #ports: ServerCallPorts
  readonly #inputRequests = new InputRequests()
  readonly #controller = new AbortController()
  /** Undefined while the client has been answered and has not come back. */
  #clientRequest: ClientRequest | undefined
  #clientCapabilities: JsonObject = {}
  #outcome: Outcome | undefined
  /** The id of the request to the server; 0 before it is sent. */
  #upstreamId = 0
  /** The message of a -32042: the request must be sent again after the client has opened some URLs. */
  #urlsRequired: string | undefined
  #isGathering = false
  #isOver = false

  /**
   * `params` must not have members that only 2026-07-28 knows. The caller has acquired the session; the call releases it at its
   * end.
   */
  constructor(method: string, params: JsonObject, ports: ServerCallPorts) {
    this.session = ports.session
    this.takesInput = inputMethods.has(method)
    this.#method = method
    this.#params = params
    this.#ports = ports
  }

  /** Sends the request to the server and its outcome to the client. */
  start(clientRequest: ClientRequest): void {
    this.#ports.active.add(this)
    this.#attach(clientRequest)
    if (!this.#isOver) this.#send()
  }

  /** Continues for a retry of the client. What `inputResponses` does not answer is asked again. */
  resume(clientRequest: ClientRequest, inputResponses: JsonObject = {}): void {
    this.#attach(clientRequest)
    if (this.#isOver || this.#outcome !== undefined) return this.#proceed()
    const answers = this.#inputRequests.answer(inputResponses)
    if (this.#urlsRequired !== undefined) {
      const isAccepted = answers.every(({ result }) => result['action'] === 'accept')
      if (!isAccepted)
        return this.#finish({ failure: new CallError(jsonRpcCode.internalError, this.#urlsRequired) })
      if (this.#inputRequests.size > 0) return this.#proceed()
      this.#urlsRequired = undefined
      return this.#send()
    }
    for (const { id, result } of answers)
      if (id !== undefined) this.#answerServer({ jsonrpc: '2.0', id, result })
    this.#proceed()
  }

  /** Handles a message that the server sent on behalf of this call. */
  readonly receive = (message: JsonRpcMessage): void | Promise<void> => {
    if (this.#isOver || !('method' in message)) return
    return 'id' in message ? this.#onRequest(message) : this.#onNotification(message)
  }

  /** Whether a notification from the GET stream belongs to this call. */
  concerns({ method, params }: JsonRpcNotification): boolean {
    if (method === 'notifications/progress') return params?.['progressToken'] === this.#upstreamId
    if (method === 'notifications/message') return isWantedLog(params, this.#clientRequest?.claims)
    return method === 'notifications/cancelled' && this.#inputRequests.has(params?.['requestId'])
  }

  isSameRequest(method: string, params: JsonObject): boolean {
    return (
      this.#method === method &&
      canonicalJson(withoutAllMeta(this.#params)) === canonicalJson(withoutAllMeta(params))
    )
  }

  abandon(reason: string): void {
    if (this.#isOver) return
    const isWaiting = this.#outcome === undefined
    this.#end()
    if (isWaiting) this.#cancelUpstream(reason)
  }

  #send(): void {
    this.#upstreamId = this.session.nextId()
    const params = withProgressToken(this.#params, this.#upstreamId)
    const options = { signal: this.#controller.signal, onMessage: this.receive }
    this.session.request(this.#upstreamId, this.#method, params, options).then(
      (response) => this.#finish({ response }),
      (failure: unknown) => this.#finish({ failure }),
    )
  }

  #finish(outcome: Outcome): void {
    this.#outcome ??= outcome
    this.#proceed()
  }

  #attach(clientRequest: ClientRequest): void {
    this.#clientRequest = clientRequest
    this.#clientCapabilities = clientRequest.claims.capabilities
    const { signal } = clientRequest.call
    if (signal.aborted) this.#onCancel()
    else signal.addEventListener('abort', this.#onCancel, { once: true })
  }

  #detach(): ClientCall | undefined {
    const call = this.#clientRequest?.call
    call?.signal.removeEventListener('abort', this.#onCancel)
    this.#clientRequest = undefined
    return call
  }

  readonly #onCancel = (): void => {
    const reason: unknown = this.#clientRequest?.call.signal.reason
    this.abandon(typeof reason === 'string' ? reason : 'The client cancelled the request.')
  }

  /** Answers the waiting client if there is an outcome or an input request. */
  #proceed(): void {
    if (this.#isOver || this.#clientRequest === undefined) return
    if (this.#outcome !== undefined) this.#answerClient(this.#outcome)
    else if (this.#inputRequests.size > 0 && !this.#isGathering) void this.#askClientSoon()
  }

  async #askClientSoon(): Promise<void> {
    this.#isGathering = true
    await this.#ports.runtime.sleep(gatherMs)
    this.#isGathering = false
    if (this.#isOver || this.#clientRequest === undefined) return
    if (this.#outcome === undefined && this.#inputRequests.size > 0) this.#askClient()
  }

  #askClient(): void {
    const requestState = this.#ports.pendingResults.add(this)
    const inputRequests = this.#inputRequests.toJson()
    const _meta = withServerInfo({}, this.session.serverInfo)
    void this.#detach()?.answer({ resultType: 'input_required', inputRequests, requestState, _meta })
  }

  #answerClient(outcome: Outcome): void {
    const { describeFailure, onHiddenTool } = this.#ports
    if ('failure' in outcome) return this.#fail(errorObject(outcome.failure, describeFailure))
    const { response } = outcome
    if ('error' in response) {
      if (!this.#askForUrls(response.error)) this.#fail(toError2026(response.error))
      return
    }
    try {
      const result = resultObject(response)
      const result2026 = toResult2026(this.#method, result, this.session.serverInfo, onHiddenTool)
      void this.#end()?.answer(result2026)
    } catch (error) {
      this.#fail(errorObject(error, describeFailure))
    }
  }

  #fail(error: JsonRpcErrorObject): void {
    void this.#end()?.fail(error)
  }

  /** -32042 means the same as `input_required`, except that the request must be sent again. */
  #askForUrls({ code, message, data }: JsonRpcErrorObject): boolean {
    if (code !== mcpErrorCode.urlElicitationRequired || !this.takesInput) return false
    const elicitations = urlElicitations(data)
    if (elicitations.length === 0) return false
    const missing = missingCapability({ elicitation: { url: {} } }, this.#clientCapabilities)
    if (missing !== undefined) {
      this.#fail(errorObject(missingCapabilityError(missing), this.#ports.describeFailure))
      return true
    }
    this.#outcome = undefined
    this.#urlsRequired = message
    for (const elicitation of elicitations) this.#inputRequests.add(elicitation)
    this.#askClient()
    return true
  }

  #onRequest({ id, method, params }: JsonRpcRequest): void {
    if (method === 'ping') return this.#answerServer({ jsonrpc: '2.0', id, result: {} })
    const needed = this.takesInput ? neededCapability(method, params) : undefined
    if (needed === undefined || this.#inputRequests.size >= maxInputRequests) {
      const message = `The client cannot take ${method} during this call.`
      const error = { code: jsonRpcCode.methodNotFound, message }
      return this.#answerServer({ jsonrpc: '2.0', id, error })
    }
    this.#inputRequests.add({ id, request: toInputRequest(method, params) })
    const missing = missingCapability(needed, this.#clientCapabilities)
    if (missing === undefined) return this.#proceed()
    this.#cancelUpstream('The client does not support this input.')
    this.#finish({ failure: missingCapabilityError(missing) })
  }

  #onNotification(notification: JsonRpcNotification): void | Promise<void> {
    const { method, params } = notification
    if (isChangeNotification(notification)) return this.#ports.onChange(notification)
    if (method === 'notifications/cancelled') return this.#inputRequests.remove(params?.['requestId'])
    if (this.#clientRequest === undefined) return
    const { call, claims } = this.#clientRequest
    const forwarded = toNotification2026(notification, claims, this.#upstreamId)
    if (forwarded !== undefined) return call.notify(forwarded)
  }

  #answerServer(response: JsonRpcResponse): void {
    // The server waits for this: without it the call would never end.
    this.session.remote.answer(response).catch((failure: unknown) => {
      if (this.#isOver) return
      this.#cancelUpstream('An answer of the client could not be delivered.')
      this.#finish({ failure })
    })
  }

  #cancelUpstream(reason: string): void {
    const { remote } = this.session
    const error = { code: jsonRpcCode.internalError, message: reason }
    for (const id of this.#inputRequests.clear()) remote.answer({ jsonrpc: '2.0', id, error }).catch(() => {})
    // Before the call was sent, and while the client opens URLs, there is nothing to cancel.
    if (this.#upstreamId === 0 || this.#urlsRequired !== undefined) return
    const params = { requestId: this.#upstreamId, reason }
    const cancelled = remote.notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    cancelled.catch(() => {}).finally(() => this.#controller.abort())
  }

  #end(): ClientCall | undefined {
    this.#isOver = true
    this.#ports.active.delete(this)
    this.session.release()
    return this.#detach()
  }
}

function missingCapabilityError(missing: JsonObject): CallError {
  const names = Object.keys(missing).join(', ')
  const message = `The call needs a client that supports ${names}.`
  return new CallError(mcpErrorCode.missingClientCapability, message, { requiredCapabilities: missing })
}

/** Progress is reported under the id of the call: a retry of the client may have another token, or none. */
function withProgressToken(params: JsonObject, progressToken: number): JsonObject {
  const meta = metaOf(params)
  if (meta['progressToken'] === undefined) return params
  return { ...params, _meta: { ...meta, progressToken } }
}

function withoutAllMeta(params: JsonObject): JsonObject {
  const { _meta: _, ...rest } = params
  return rest
}
