import { plainNumber } from '../../../exact-json.ts'
import type { JsonObject } from '../../../json-object.ts'
import {
  jsonRpcCode,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '../../json-rpc.ts'
import { mcpErrorCode } from '../../mcp-protocol.ts'
import { CallError, errorObject } from '../call-error.ts'
import { missingCapability, neededCapability } from '../capabilities.ts'
import type { ClientCall } from '../client-calls.ts'
import { inputMethods, maxInputRequests } from '../input-required.ts'
import type { AdapterRuntime, DescribeFailure } from '../ports.ts'
import { isChangeNotification } from '../subscription-filter.ts'
import { type Claims, isWantedLog, toNotification2026 } from './claims.ts'
import {
  InputRequests,
  type PendingResult,
  type PendingResults,
  toInputRequest,
  urlElicitations,
} from './input-requests.ts'
import { toResult2026, withServerInfo } from './result.ts'
import { UpstreamRequest, type UpstreamSession } from './sessions.ts'

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

type Outcome = { result: JsonObject } | { failure: unknown }

/** A server sends requests that belong together as single messages; wait for them, because clients limit the number of rounds. */
const gatherMs = 10

/**
 * One call to a 2025 server. It outlives the request that began it: while the server waits for input, the client has
 * received `input_required`, and its retry continues the call.
 */
export class ServerCall implements PendingResult {
  /** True if the client accepts input requests on behalf of this call. */
  readonly takesInput: boolean
  readonly session: UpstreamSession
  readonly #upstream: UpstreamRequest
  readonly #ports: ServerCallPorts
  readonly #inputRequests = new InputRequests()
  /** Undefined while the client has been answered and has not come back. */
  #clientRequest: ClientRequest | undefined
  #clientCapabilities: JsonObject = {}
  #outcome: Outcome | undefined
  /** The message of a -32042: the request must be sent again after the client has opened some URLs. */
  #urlsRequired: string | undefined
  #isGathering = false
  #isOver = false

  /** `params` has no members that only 2026-07-28 knows. The session is acquired; the call releases it at its end. */
  constructor(method: string, params: JsonObject, ports: ServerCallPorts) {
    this.takesInput = inputMethods.has(method)
    this.session = ports.session
    this.#upstream = new UpstreamRequest(method, params, ports.session)
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
      if (!answers.every(({ result }) => result['action'] === 'accept'))
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

  /** Returns true if a notification from the GET stream belongs to this call. */
  concerns({ method, params }: JsonRpcNotification): boolean {
    if (method === 'notifications/progress')
      return plainNumber(params?.['progressToken']) === this.#upstream.id
    if (method === 'notifications/message') return isWantedLog(params, this.#clientRequest?.claims)
    return method === 'notifications/cancelled' && this.#inputRequests.has(params?.['requestId'])
  }

  isSameRequest(method: string, params: JsonObject): boolean {
    return this.#upstream.isSame(method, params)
  }

  abandon(reason: string): void {
    if (this.#isOver) return
    this.#end()
    if (this.#outcome === undefined) this.#cancelUpstream(reason)
  }

  #send(): void {
    this.#upstream.send(this.receive).then(
      (result) => this.#finish({ result }),
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
    const isWaiting = !this.#isOver && this.#clientRequest !== undefined && this.#outcome === undefined
    if (isWaiting && this.#inputRequests.size > 0) this.#askClient()
  }

  #askClient(): void {
    const requestState = this.#ports.pendingResults.add(this)
    const inputRequests = this.#inputRequests.toJson()
    const _meta = withServerInfo({}, this.session.serverInfo)
    void this.#detach()?.answer({ resultType: 'input_required', inputRequests, requestState, _meta })
  }

  #answerClient(outcome: Outcome): void {
    let failure = 'failure' in outcome ? outcome.failure : undefined
    if (failure instanceof CallError && failure.code === mcpErrorCode.urlElicitationRequired) {
      failure = this.#askForUrls(failure)
      if (failure === undefined) return
    }
    const { describeFailure, onHiddenTool } = this.#ports
    const call = this.#end()
    if (!('result' in outcome)) return void call?.fail(errorObject(failure, describeFailure))
    const { method } = this.#upstream
    void call?.answer(toResult2026(method, outcome.result, this.session.serverInfo, onHiddenTool))
  }

  /**
   * Asks the client to open the URLs of a -32042, which means the same as `input_required` except that the request must be sent
   * again. Returns the error for the client if that is impossible.
   */
  #askForUrls({ message, data }: CallError): CallError | undefined {
    const elicitations = this.takesInput ? urlElicitations(data) : []
    if (elicitations.length === 0) return new CallError(jsonRpcCode.internalError, message, data)
    const missing = missingCapability({ elicitation: { url: {} } }, this.#clientCapabilities)
    if (missing !== undefined) return missingCapabilityError(missing)
    this.#outcome = undefined
    this.#urlsRequired = message
    for (const elicitation of elicitations) this.#inputRequests.add(elicitation)
    this.#askClient()
    return undefined
  }

  #onRequest({ id, method, params }: JsonRpcRequest): void {
    if (method === 'ping') return this.#answerServer({ jsonrpc: '2.0', id, result: {} })
    const needed = this.takesInput ? neededCapability(method, params) : undefined
    if (needed === undefined || this.#inputRequests.size >= maxInputRequests)
      return this.#answerServer({ jsonrpc: '2.0', id, error: refusalOf(method) })
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
    const forwarded = toNotification2026(notification, claims, this.#upstream.id)
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
    const error = { code: jsonRpcCode.internalError, message: reason }
    for (const id of this.#inputRequests.clear())
      this.session.remote.answer({ jsonrpc: '2.0', id, error }).catch(() => {})
    // While the client opens URLs, there is nothing to cancel.
    if (this.#urlsRequired === undefined) this.#upstream.cancel(reason)
  }

  #end(): ClientCall | undefined {
    this.#isOver = true
    this.#ports.active.delete(this)
    this.session.release()
    return this.#detach()
  }
}

function refusalOf(method: string): { code: number; message: string } {
  return { code: jsonRpcCode.methodNotFound, message: `The client cannot take ${method} during this call.` }
}

function missingCapabilityError(missing: JsonObject): CallError {
  const names = Object.keys(missing).join(', ')
  const message = `The call needs a client that supports ${names}.`
  return new CallError(mcpErrorCode.missingClientCapability, message, { requiredCapabilities: missing })
}
