import { isJsonObject } from '../../../json-object.ts'
import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest } from '../../json-rpc.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, errorMember } from '../call-error.ts'
import { inputMethods } from '../input-required.ts'
import { createListenDesk } from './subscriptions.ts'
import { isChangeNotice } from '../subscription-filter.ts'
import { createLocalCalls } from '../local-calls.ts'
import type { LocalCall } from '../local-calls.ts'
import { withoutMeta } from '../params.ts'
import { claimKeys, readClaim } from './claims.ts'
import type { Claim } from './claims.ts'
import { startExchange } from './request.ts'
import type { Exchange } from './request.ts'
import { createParkingLot } from './pending-results.ts'
import { toDiscoverResult } from './result.ts'
import { createUpstreamSessions } from './sessions.ts'
import type { UpstreamSession } from './sessions.ts'
import { createDeadlines } from '../deadlines.ts'
import type { DescribeFailure, LegacyServer, LocalPeer, Translator } from '../ports.ts'

/** Each is told to a person once. */
const mostHiddenTools = 1000

/** What {@link createModernToLegacy} needs. */
export interface ModernToLegacyPorts {
  local: LocalPeer
  server: LegacyServer
  describeFailure: DescribeFailure
  runtime: Runtime
  /** One line for a person. */
  warn(text: string): void
}

/**
 * Lets a 2026-07-28 client talk to a server of the 2025 era. Sessions are opened when the first request needs one. Requests of
 * the server become `input_required` results. `take` returns at once; the answer comes later.
 */
export function createModernToLegacy(ports: ModernToLegacyPorts): Translator {
  const { local, runtime, describeFailure } = ports
  const deadlines = createDeadlines(runtime)
  const calls = createLocalCalls(local)
  const lot = createParkingLot<Exchange>(runtime, deadlines)
  const desk = createListenDesk()
  const active = new Set<Exchange>()
  const sessions = createUpstreamSessions(ports.server, takeStanding)
  const hiddenTools = new Set<string>()
  let closed = false

  function hidden(toolName: unknown): void {
    const name = JSON.stringify(toolName)
    if (hiddenTools.has(name) || hiddenTools.size >= mostHiddenTools) return
    hiddenTools.add(name)
    ports.warn(`The tool ${name} is hidden: it runs as a task only, and tasks are not translated.`)
  }

  const shared = { lot, runtime, describeFailure, active, hidden }

  /** What the server sends on no request's stream. */
  function takeStanding(session: UpstreamSession, message: JsonRpcMessage): void | Promise<void> {
    if (closed || !('method' in message)) return
    if ('id' in message) return takeStandingRequest(session, message)
    if (isChangeNotice(message)) return desk.notice(session, message)
    const own = [...active].filter((exchange) => exchange.session === session)
    return own.find((exchange) => exchange.concerns(message))?.take(message)
  }

  function takeStandingRequest(session: UpstreamSession, request: JsonRpcRequest): void | Promise<void> {
    const carriers = [...active].filter((each) => each.session === session && each.takesInput)
    const [only] = carriers
    // Old transports, and servers that do not say which call they ask for, send everything here. If there is one call, it is the one.
    if (carriers.length === 1 && only !== undefined) return only.take(request)
    const { id, method } = request
    const message = 'No call is under way that could carry a request to the client.'
    const answer = session.legacy.answer(
      method === 'ping'
        ? { jsonrpc: '2.0', id, result: {} }
        : { jsonrpc: '2.0', id, error: { code: jsonRpcCode.methodNotFound, message } },
    )
    return answer.catch(() => {})
  }

  async function serve(call: LocalCall): Promise<void> {
    try {
      await dispatch(call, readClaim(call.request))
    } catch (error) {
      if (call.isOpen()) await call.fail(errorMember(error, describeFailure))
    }
  }

  async function dispatch(call: LocalCall, claim: Claim): Promise<void> {
    const { method, params = {} } = call.request
    const { inputResponses: _, requestState, ...rest } = params
    const takesInput = inputMethods.has(method)
    const own = withoutMeta(takesInput ? rest : params, claimKeys)
    if (takesInput && requestState !== undefined) return resume(call, claim, own)
    const session = await sessions.acquire(claim)
    if (!call.isOpen()) return session.release()
    if (method === 'server/discover') {
      session.release()
      return call.answer(toDiscoverResult(session.legacy.initialized))
    }
    if (method === 'subscriptions/listen') return desk.serve(call, session)
    if (claim.logLevel !== undefined) await session.wantLogs(claim.logLevel, claim.logSeverity ?? 0)
    const notice = (notification: JsonRpcNotification) => desk.notice(session, notification)
    startExchange({ call, claim }, own, { ...shared, session, notice })
  }

  function resume(call: LocalCall, claim: Claim, own: JsonObject): void {
    const { inputResponses, requestState } = call.request.params ?? {}
    if (inputResponses !== undefined && !isJsonObject(inputResponses))
      throw new CallError(jsonRpcCode.invalidParams, 'inputResponses must be an object')
    const exchange =
      typeof requestState === 'string' ? lot.take(requestState, call.request.method, own) : undefined
    if (exchange === undefined)
      throw new CallError(
        jsonRpcCode.invalidParams,
        'requestState is unknown, has expired, or is of another request',
      )
    exchange.resume({ call, claim }, inputResponses)
  }

  return {
    async take(message) {
      if (!('method' in message)) return
      if ('id' in message) {
        const call = calls.begin(message)
        if (call !== undefined) void serve(call)
      } else if (message.method === 'notifications/cancelled') {
        calls.cancel(message.params?.['requestId'], message.params?.['reason'])
      }
    },
    // The streams are those of the sessions, whose legs see to them.
    reopen() {},
    async close() {
      closed = true
      calls.close()
      lot.close()
      deadlines.close()
      await sessions.close()
    },
  }
}
