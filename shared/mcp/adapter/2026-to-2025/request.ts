import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../../json-rpc.ts'
import { mcpErrorCode } from '../../mcp-protocol.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, errorMember, resultObject, toModernError } from '../call-error.ts'
import type { ErrorMember } from '../call-error.ts'
import { missingCapability, neededCapability } from '../capabilities.ts'
import { inputMethods } from '../input-required.ts'
import { isChangeNotice } from '../subscription-filter.ts'
import type { LocalCall } from '../local-calls.ts'
import { canonicalJson, logSeverity, metaOf } from '../params.ts'
import type { Claim } from './claims.ts'
import type { Parked, ParkingLot } from './pending-results.ts'
import { createQuestions, mostQuestions, toInputRequest, urlQuestions } from './input-requests.ts'
import { signed, toModernResult } from './result.ts'
import type { UpstreamSession } from './sessions.ts'
import type { DescribeFailure } from '../ports.ts'

/** The request of the client that an exchange answers next. */
export interface Carrier {
  call: LocalCall
  claim: Claim
}

/**
 * One call of a server of the 2025 era. It outlives the request that began it: while the server waits for input, the client has
 * been answered `input_required`, and its retry carries on.
 */
export interface Exchange extends Parked {
  readonly session: UpstreamSession
  /** Whether the client can be asked for input on behalf of this call. */
  readonly takesInput: boolean
  /** Takes what the server sends on behalf of this call. */
  take(message: JsonRpcMessage): void | Promise<void>
  /** Whether {@link take} has a use for a notification that came on the standing stream. */
  concerns(notification: JsonRpcNotification): boolean
  /** Goes on for the retry of the client. What `inputResponses` does not answer is asked again. */
  resume(carrier: Carrier, inputResponses: JsonObject | undefined): void
}

/** What an exchange needs. */
export interface ExchangePorts {
  session: UpstreamSession
  lot: ParkingLot<Exchange>
  runtime: Runtime
  describeFailure: DescribeFailure
  /** Takes change notices: they belong to those who listen. */
  notice(notification: JsonRpcNotification): void | Promise<void>
  /** Is told the name of each tool that a list does not show. */
  hidden(toolName: unknown): void
  /** All exchanges that are not over. */
  active: Set<Exchange>
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
 * Sends the request and answers the carrier. `params` have no member that only 2026-07-28 knows. The session is held by the
 * caller and released here in the end.
 */
export function startExchange(first: Carrier, params: JsonObject, ports: ExchangePorts): void {
  const { session } = ports
  const { method } = first.call.request
  const { serverInfo } = session.legacy.initialized
  const takesInput = inputMethods.has(method)
  const questions = createQuestions()
  const controller = new AbortController()
  /** Undefined while the client has been answered and has not come back. */
  let carrier: Carrier | undefined
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
    session.ask(upstreamId, method, withOwnToken(params, upstreamId), options).then(
      (response) => finish({ response }),
      (failure: unknown) => finish({ failure }),
    )
  }

  function finish(value: Outcome): void {
    outcome ??= value
    proceed()
  }

  function attach(next: Carrier): void {
    carrier = next
    capabilities = next.claim.capabilities
    const { signal } = next.call
    if (signal.aborted) onCancel()
    else signal.addEventListener('abort', onCancel, { once: true })
  }

  function detach(): LocalCall | undefined {
    const call = carrier?.call
    call?.signal.removeEventListener('abort', onCancel)
    carrier = undefined
    return call
  }

  function onCancel(): void {
    const reason: unknown = carrier?.call.signal.reason
    abandon(typeof reason === 'string' ? reason : 'The client does not want the answer any more.')
  }

  /** Tells the carrier whatever there is to be told. */
  function proceed(): void {
    if (over || carrier === undefined) return
    if (outcome !== undefined) conclude(outcome)
    else if (questions.size() > 0 && !gathering) void handOutSoon()
  }

  async function handOutSoon(): Promise<void> {
    gathering = true
    await ports.runtime.sleep(gatherMs)
    gathering = false
    if (!over && carrier !== undefined && outcome === undefined && questions.size() > 0) handOut()
  }

  function handOut(): void {
    const requestState = ports.lot.park(exchange)
    const inputRequests = questions.asInputRequests()
    const _meta = signed({}, serverInfo)
    void detach()?.answer({ resultType: 'input_required', inputRequests, requestState, _meta })
  }

  function conclude(value: Outcome): void {
    if ('failure' in value) return fail(errorMember(value.failure, ports.describeFailure))
    const { response } = value
    if ('error' in response) {
      if (!askForUrls(response.error)) fail(toModernError(response.error))
      return
    }
    try {
      const result = toModernResult(method, resultObject(response), serverInfo, ports.hidden)
      void end()?.answer(result)
    } catch (error) {
      fail(errorMember(error, ports.describeFailure))
    }
  }

  function fail(error: ErrorMember): void {
    void end()?.fail(error)
  }

  /** -32042 asks for the same thing as `input_required`, except that the request has to come anew. */
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
    if (needed === undefined || questions.size() >= mostQuestions) {
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
    session.legacy.answer(response).catch((failure: unknown) => {
      if (over) return
      giveUpUpstream('An answer of the client could not be delivered.')
      finish({ failure })
    })
  }

  function takeNotification(notification: JsonRpcNotification): void | Promise<void> {
    const { method: kind, params: own } = notification
    if (isChangeNotice(notification)) return ports.notice(notification)
    if (kind === 'notifications/cancelled') return questions.withdraw(own?.['requestId'])
    if (goneNotices.has(kind) || carrier === undefined) return
    if (kind === 'notifications/message' && !wantsLog(own)) return
    if (kind !== 'notifications/progress') return carrier.call.notify(notification)
    const { progressToken } = carrier.claim
    if (progressToken === undefined || own?.['progressToken'] !== upstreamId) return
    return carrier.call.notify({ ...notification, params: { ...own, progressToken } })
  }

  function wantsLog(own: JsonObject | undefined): boolean {
    const least = carrier?.claim.logSeverity
    const severity = logSeverity(own?.['level'])
    return least !== undefined && severity !== undefined && severity >= least
  }

  function concerns({ method: kind, params: own }: JsonRpcNotification): boolean {
    if (kind === 'notifications/progress') return own?.['progressToken'] === upstreamId
    if (kind === 'notifications/message') return wantsLog(own)
    return kind === 'notifications/cancelled' && questions.has(own?.['requestId'])
  }

  function resume(next: Carrier, inputResponses: JsonObject = {}): void {
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
    for (const id of questions.clear()) session.legacy.answer({ jsonrpc: '2.0', id, error }).catch(() => {})
    // Before it was sent, and while URLs are opened, there is no call to cancel.
    if (upstreamId === 0 || urlsRequired !== undefined) return
    const params = { requestId: upstreamId, reason }
    const cancelled = session.legacy.notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    cancelled.catch(() => {}).finally(() => controller.abort())
  }

  function end(): LocalCall | undefined {
    over = true
    ports.active.delete(exchange)
    session.release()
    return detach()
  }

  const exchange: Exchange = { session, takesInput, isSameRequest, take, concerns, resume, abandon }
  ports.active.add(exchange)
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
