import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/json-rpc.ts'
import type {
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
} from '@drawbridge/shared/json-rpc.ts'
import { mcpErrorCode } from '@drawbridge/shared/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CallError, errorMember, resultObject, toModernError } from './call-error.ts'
import { missingCapability, neededCapability } from './capability-map.ts'
import { inputMethods } from './input-round.ts'
import { isChangeNotice } from './listen-filter.ts'
import type { LocalCall } from './local-call.ts'
import { logSeverity } from './log-level.ts'
import { metaOf } from './message-meta.ts'
import type { Claim } from './modern-to-legacy-claim.ts'
import type { Parked, ParkingLot } from './modern-to-legacy-parking.ts'
import { toInputRequest, urlQuestions } from './modern-to-legacy-question.ts'
import type { Question } from './modern-to-legacy-question.ts'
import { signed, toModernResult } from './modern-to-legacy-result.ts'
import type { UpstreamSession } from './modern-to-legacy-session.ts'
import type { DescribeFailure } from './translator.ts'

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
  /** Goes on for the retry of the client; `undefined` as well as an empty object leaves everything unanswered. */
  resume(carrier: Carrier, inputResponses: JsonObject | undefined): void
}

/** What an exchange needs. */
export interface ExchangePorts {
  session: UpstreamSession
  lot: ParkingLot<Exchange>
  runtime: Runtime
  describeFailure: DescribeFailure
  notice(notification: JsonRpcNotification): void | Promise<void>
  /** All exchanges that are not over. */
  active: Set<Exchange>
}

type Outcome = { response: JsonRpcResponse } | { failure: unknown }

/** Questions that a server asks at once come in one message after the other; a client counts rounds, so they go out as one. */
const gatherMs = 10
const mostQuestions = 32
/** They tell about elicitations by id and about tasks, of which 2026-07-28 knows nothing. */
const goneNotices: ReadonlySet<string> = new Set([
  'notifications/elicitation/complete',
  'notifications/tasks/status',
])

/**
 * Sends the request and answers the carrier. `params` have no member that only 2026-07-28 knows. The session is held by the
 * caller and released here in the end.
 */
export function startExchange(
  first: Carrier,
  params: JsonObject | undefined,
  digest: string,
  ports: ExchangePorts,
): void {
  const { session, runtime } = ports
  const { method } = first.call.request
  const takesInput = inputMethods.has(method)
  const questions = new Map<string, Question>()
  const controller = new AbortController()
  let carrier: Carrier | undefined
  let claim = first.claim
  let outcome: Outcome | undefined
  let upstreamId = 0
  let asked = 0
  /** Why the call has to be sent once more after the client has opened some URLs. */
  let urlsRequired: string | undefined
  let gathering = false
  let over = false

  function send(): void {
    upstreamId = session.nextId()
    const onMessage = take
    session
      .ask(upstreamId, method, withOwnToken(params, upstreamId), { signal: controller.signal, onMessage })
      .then(
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
    claim = next.claim
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
    else if (questions.size > 0) gather()
  }

  function gather(): void {
    if (gathering) return
    gathering = true
    void handOutSoon()
  }

  async function handOutSoon(): Promise<void> {
    await runtime.sleep(gatherMs)
    gathering = false
    if (!over && carrier !== undefined && outcome === undefined && questions.size > 0) handOut()
  }

  function handOut(): void {
    const inputRequests = Object.fromEntries([...questions].map(([key, { request }]) => [key, request]))
    const requestState = ports.lot.park(exchange)
    const _meta = signed({}, session.legacy.initialized['serverInfo'])
    void detach()?.answer({ resultType: 'input_required', inputRequests, requestState, _meta })
  }

  function conclude(value: Outcome): void {
    if ('response' in value && 'error' in value.response && askForUrls(value.response.error)) return
    const call = carrier?.call
    end()
    if ('failure' in value) void call?.fail(errorMember(value.failure, ports.describeFailure))
    else if ('error' in value.response) void call?.fail(toModernError(value.response.error))
    else succeed(call, value.response)
  }

  function succeed(call: LocalCall | undefined, response: Parameters<typeof resultObject>[0]): void {
    try {
      const { serverInfo } = session.legacy.initialized
      void call?.answer(toModernResult(method, resultObject(response), serverInfo))
    } catch (error) {
      void call?.fail(errorMember(error, ports.describeFailure))
    }
  }

  /** -32042 asks for the same thing as `input_required`, except that the request has to come anew. */
  function askForUrls({ code, message, data }: { code: number; message: string; data?: unknown }): boolean {
    const found = code === mcpErrorCode.urlElicitationRequired && takesInput ? urlQuestions(data) : []
    if (found.length === 0 || found.length > mostQuestions) return false
    const missing = missingCapability({ elicitation: { url: {} } }, claim.capabilities)
    if (missing !== undefined) {
      conclude({ failure: lacking(missing) })
      return true
    }
    outcome = undefined
    urlsRequired = message
    for (const question of found) addQuestion(question)
    handOut()
    return true
  }

  function addQuestion(question: Question): void {
    asked += 1
    questions.set(`input-${asked}`, question)
  }

  function take(message: JsonRpcMessage): void | Promise<void> {
    if (over || !('method' in message)) return
    return 'id' in message ? takeRequest(message) : takeNotification(message)
  }

  function takeRequest({ id, method: asking, params: own }: JsonRpcRequest): void {
    if (asking === 'ping') return reply({ jsonrpc: '2.0', id, result: {} })
    const needed = takesInput ? neededCapability(asking, own) : undefined
    if (needed === undefined || questions.size >= mostQuestions) {
      const error = {
        code: jsonRpcCode.methodNotFound,
        message: `The client cannot be asked for ${asking} here.`,
      }
      return reply({ jsonrpc: '2.0', id, error })
    }
    addQuestion({ id, request: toInputRequest(asking, own) })
    const missing = missingCapability(needed, claim.capabilities)
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
    if (kind === 'notifications/cancelled') return forget(own?.['requestId'])
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

  /** The server has withdrawn a question. */
  function forget(requestId: unknown): void {
    for (const [key, { id }] of questions) if (id === requestId && id !== undefined) questions.delete(key)
  }

  function resume(next: Carrier, inputResponses: JsonObject = {}): void {
    attach(next)
    if (over || outcome !== undefined) return proceed()
    let accepted = true
    for (const [key, { id }] of questions) {
      const result = Object.hasOwn(inputResponses, key) ? inputResponses[key] : undefined
      if (!isJsonObject(result)) continue
      questions.delete(key)
      if (id !== undefined) reply({ jsonrpc: '2.0', id, result })
      else accepted &&= result['action'] === 'accept'
    }
    if (urlsRequired !== undefined) return resumeAfterUrls(urlsRequired, accepted)
    proceed()
  }

  function resumeAfterUrls(message: string, accepted: boolean): void {
    if (!accepted) return finish({ failure: new CallError(jsonRpcCode.internalError, message) })
    if (questions.size > 0) return proceed()
    urlsRequired = undefined
    send()
  }

  function abandon(reason: string): void {
    if (over) return
    const waiting = outcome === undefined
    end()
    if (waiting) giveUpUpstream(reason)
  }

  function giveUpUpstream(reason: string): void {
    for (const { id } of questions.values()) {
      if (id === undefined) continue
      const error = { code: jsonRpcCode.internalError, message: reason }
      session.legacy.answer({ jsonrpc: '2.0', id, error }).catch(() => {})
    }
    questions.clear()
    // While URLs are opened there is no call to cancel.
    if (urlsRequired !== undefined) return
    const params = { requestId: upstreamId, reason }
    const cancelled = session.legacy.notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    cancelled.catch(() => {}).finally(() => controller.abort())
  }

  function end(): void {
    over = true
    detach()
    ports.active.delete(exchange)
    session.release()
  }

  const exchange: Exchange = {
    session,
    takesInput,
    digest,
    take,
    concerns: ({ method: kind, params: own }) => {
      if (kind === 'notifications/progress') return own?.['progressToken'] === upstreamId
      if (kind === 'notifications/message') return wantsLog(own)
      return (
        kind === 'notifications/cancelled' &&
        [...questions.values()].some(({ id }) => id === own?.['requestId'])
      )
    },
    resume,
    abandon,
  }
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
function withOwnToken(params: JsonObject | undefined, token: number): JsonObject | undefined {
  const meta = metaOf(params)
  return meta['progressToken'] === undefined
    ? params
    : { ...params, _meta: { ...meta, progressToken: token } }
}
