import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../../json-rpc.ts'
import { mcpErrorCode } from '../../mcp-protocol.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, errorMember, resultObject, toError2026 } from '../call-error.ts'
import type { ErrorMember } from '../call-error.ts'
import { missingCapability, neededCapability } from '../capabilities.ts'
import { inputMethods } from '../input-required.ts'
import { isChangeNotice } from '../subscription-filter.ts'
import type { LocalCall } from '../local-calls.ts'
import { canonicalJson, logSeverity, metaOf } from '../params.ts'
import type { Claim } from './claims.ts'
import type { PendingResult, PendingResults } from './pending-results.ts'
import { createQuestions, maxQuestions, toInputRequest, urlQuestions } from './input-requests.ts'
import { signed, toResult2026 } from './result.ts'
import type { UpstreamSession } from './sessions.ts'
import type { DescribeFailure } from '../ports.ts'

/** The client request that a server call answers next. */
export interface ClientRequest {
  call: LocalCall
  claim: Claim
}

/**
 * One call to a 2025 server. It outlives the request that began it: while the server waits for input, the client has
 * received `input_required`, and its retry continues the call.
 */
export interface ServerCall extends PendingResult {
  readonly session: UpstreamSession
  /** Whether the client can be asked for input on behalf of this call. */
  readonly takesInput: boolean
  /** Takes what the server sends on behalf of this call. */
  take(message: JsonRpcMessage): void | Promise<void>
  /** Whether a notification from the GET stream belongs to this call. */
  concerns(notification: JsonRpcNotification): boolean
  /** Goes on for the retry of the client. What `inputResponses` does not answer is asked again. */
  resume(clientRequest: ClientRequest, inputResponses: JsonObject | undefined): void
}

export interface ServerCallPorts {
  session: UpstreamSession
  pendingResults: PendingResults<ServerCall>
  runtime: Runtime
  describeFailure: DescribeFailure
  /** Takes change notices: they belong to those who listen. */
  notice(notification: JsonRpcNotification): void | Promise<void>
  /** Called with the name of each tool that is left out of a list. */
  hidden(toolName: unknown): void
  /** All calls that are not over. */
  active: Set<ServerCall>
}

type Outcome = { response: JsonRpcResponse } | { failure: unknown }

/** Questions that a server asks at once come in one message after the other; a client counts rounds, so they go out as one. */
const gatherMs = 10
/** They tell about elicitations by id and about tasks, of which 2026-07-28 knows nothing. */
const goneNotices: ReadonlySet<string> = new Set([
  'notifications/elicitation/complete',
  'notifications/tasks/status',
])

/**
 * Sends the request and answers the client. `params` must not have members that only 2026-07-28 knows. The caller has acquired
 * the session; it is released here at the end.
 */
export function startServerCall(first: ClientRequest, params: JsonObject, ports: ServerCallPorts): void {
  const { session } = ports
  const { method } = first.call.request
  const { serverInfo } = session.remote.initialized
  const takesInput = inputMethods.has(method)
  const questions = createQuestions()
  const controller = new AbortController()
  /** Undefined while the client has been answered and has not come back. */
  let clientRequest: ClientRequest | undefined
  let { capabilities } = first.claim
  let outcome: Outcome | undefined
  let upstreamId = 0
  /** Why the call has to be sent once more, after the client has opened some URLs. */
  let urlsRequired: string | undefined
  let gathering = false
  let over = false

  function send(): void {
    upstreamId = session.nextId()
    const options = { signal: controller.signal, onMessage: take }
    session.request(upstreamId, method, withOwnToken(params, upstreamId), options).then(
      (response) => finish({ response }),
      (failure: unknown) => finish({ failure }),
    )
  }

  function finish(value: Outcome): void {
    outcome ??= value
    proceed()
  }

  function attach(next: ClientRequest): void {
    clientRequest = next
    capabilities = next.claim.capabilities
    const { signal } = next.call
    if (signal.aborted) onCancel()
    else signal.addEventListener('abort', onCancel, { once: true })
  }

  function detach(): LocalCall | undefined {
    const call = clientRequest?.call
    call?.signal.removeEventListener('abort', onCancel)
    clientRequest = undefined
    return call
  }

  function onCancel(): void {
    const reason: unknown = clientRequest?.call.signal.reason
    abandon(typeof reason === 'string' ? reason : 'The client does not want the answer any more.')
  }

  /** Answers the waiting client request if there is a result or a question. */
  function proceed(): void {
    if (over || clientRequest === undefined) return
    if (outcome !== undefined) conclude(outcome)
    else if (questions.size() > 0 && !gathering) void handOutSoon()
  }

  async function handOutSoon(): Promise<void> {
    gathering = true
    await ports.runtime.sleep(gatherMs)
    gathering = false
    if (!over && clientRequest !== undefined && outcome === undefined && questions.size() > 0) handOut()
  }

  function handOut(): void {
    const requestState = ports.pendingResults.park(serverCall)
    const inputRequests = questions.asInputRequests()
    const _meta = signed({}, serverInfo)
    void detach()?.answer({ resultType: 'input_required', inputRequests, requestState, _meta })
  }

  function conclude(value: Outcome): void {
    if ('failure' in value) return fail(errorMember(value.failure, ports.describeFailure))
    const { response } = value
    if ('error' in response) {
      if (!askForUrls(response.error)) fail(toError2026(response.error))
      return
    }
    try {
      const result = toResult2026(method, resultObject(response), serverInfo, ports.hidden)
      void end()?.answer(result)
    } catch (error) {
      fail(errorMember(error, ports.describeFailure))
    }
  }

  function fail(error: ErrorMember): void {
    void end()?.fail(error)
  }

  /** -32042 asks for the same thing as `input_required`, except that the request must be sent again. */
  function askForUrls({ code, message, data }: ErrorMember): boolean {
    const found = code === mcpErrorCode.urlElicitationRequired && takesInput ? urlQuestions(data) : []
    if (found.length === 0) return false
    const missing = missingCapability({ elicitation: { url: {} } }, capabilities)
    if (missing === undefined) {
      outcome = undefined
      urlsRequired = message
      for (const question of found) questions.add(question)
      handOut()
    } else fail(errorMember(lacking(missing), ports.describeFailure))
    return true
  }

  function take(message: JsonRpcMessage): void | Promise<void> {
    if (over || !('method' in message)) return
    return 'id' in message ? takeRequest(message) : takeNotification(message)
  }

  function takeRequest({ id, method: asking, params: own }: JsonRpcRequest): void {
    if (asking === 'ping') return reply({ jsonrpc: '2.0', id, result: {} })
    const needed = takesInput ? neededCapability(asking, own) : undefined
    if (needed === undefined || questions.size() >= maxQuestions) {
      const message = `The client cannot be asked for ${asking} here.`
      return reply({ jsonrpc: '2.0', id, error: { code: jsonRpcCode.methodNotFound, message } })
    }
    questions.add({ id, request: toInputRequest(asking, own) })
    const missing = missingCapability(needed, capabilities)
    if (missing === undefined) return proceed()
    giveUpUpstream('The client cannot give the input.')
    finish({ failure: lacking(missing) })
  }

  function reply(response: JsonRpcResponse): void {
    // The server waits for this: without it the call would never end.
    session.remote.answer(response).catch((failure: unknown) => {
      if (over) return
      giveUpUpstream('An answer of the client could not be delivered.')
      finish({ failure })
    })
  }

  function takeNotification(notification: JsonRpcNotification): void | Promise<void> {
    const { method: kind, params: own } = notification
    if (isChangeNotice(notification)) return ports.notice(notification)
    if (kind === 'notifications/cancelled') return questions.withdraw(own?.['requestId'])
    if (goneNotices.has(kind) || clientRequest === undefined) return
    if (kind === 'notifications/message' && !wantsLog(own)) return
    if (kind !== 'notifications/progress') return clientRequest.call.notify(notification)
    const { progressToken } = clientRequest.claim
    if (progressToken === undefined || own?.['progressToken'] !== upstreamId) return
    return clientRequest.call.notify({ ...notification, params: { ...own, progressToken } })
  }

  function wantsLog(own: JsonObject | undefined): boolean {
    const least = clientRequest?.claim.logSeverity
    const severity = logSeverity(own?.['level'])
    return least !== undefined && severity !== undefined && severity >= least
  }

  function concerns({ method: kind, params: own }: JsonRpcNotification): boolean {
    if (kind === 'notifications/progress') return own?.['progressToken'] === upstreamId
    if (kind === 'notifications/message') return wantsLog(own)
    return kind === 'notifications/cancelled' && questions.has(own?.['requestId'])
  }

  function resume(next: ClientRequest, inputResponses: JsonObject = {}): void {
    attach(next)
    if (over || outcome !== undefined) return proceed()
    const answers = questions.answer(inputResponses)
    if (urlsRequired !== undefined) {
      const accepted = answers.every(({ result }) => result['action'] === 'accept')
      if (!accepted) return finish({ failure: new CallError(jsonRpcCode.internalError, urlsRequired) })
      if (questions.size() > 0) return proceed()
      urlsRequired = undefined
      return send()
    }
    for (const { id, result } of answers) if (id !== undefined) reply({ jsonrpc: '2.0', id, result })
    proceed()
  }

  function isSameRequest(otherMethod: string, otherParams: JsonObject): boolean {
    return (
      method === otherMethod &&
      canonicalJson(withoutAllMeta(params)) === canonicalJson(withoutAllMeta(otherParams))
    )
  }

  function abandon(reason: string): void {
    if (over) return
    const waiting = outcome === undefined
    end()
    if (waiting) giveUpUpstream(reason)
  }

  function giveUpUpstream(reason: string): void {
    const error = { code: jsonRpcCode.internalError, message: reason }
    for (const id of questions.clear()) session.remote.answer({ jsonrpc: '2.0', id, error }).catch(() => {})
    // Before the call was sent, and while the client opens URLs, there is nothing to cancel.
    if (upstreamId === 0 || urlsRequired !== undefined) return
    const params = { requestId: upstreamId, reason }
    const cancelled = session.remote.notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    cancelled.catch(() => {}).finally(() => controller.abort())
  }

  function end(): LocalCall | undefined {
    over = true
    ports.active.delete(serverCall)
    session.release()
    return detach()
  }

  const serverCall: ServerCall = { session, takesInput, isSameRequest, take, concerns, resume, abandon }
  ports.active.add(serverCall)
  attach(first)
  if (!over) send()
}

function lacking(missing: JsonObject): CallError {
  const names = Object.keys(missing).join(', ')
  const data = { requiredCapabilities: missing }
  return new CallError(mcpErrorCode.missingClientCapability, `The call needs ${names} of the client.`, data)
}

/** Progress is counted under the id of the call: a retry may have another token, or none. */
function withOwnToken(params: JsonObject, token: number): JsonObject {
  const meta = metaOf(params)
  if (meta['progressToken'] === undefined) return params
  return { ...params, _meta: { ...meta, progressToken: token } }
}

function withoutAllMeta(params: JsonObject): JsonObject {
  const { _meta: _, ...rest } = params
  return rest
}
