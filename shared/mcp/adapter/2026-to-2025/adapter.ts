import { isJsonObject } from '../../../json-object.ts'
import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest } from '../../json-rpc.ts'
import type { Runtime } from '../../../runtime.ts'
import { CallError, errorMember } from '../call-error.ts'
import { inputMethods } from '../input-required.ts'
import { createSubscriptions } from './subscriptions.ts'
import { isChangeNotice } from '../subscription-filter.ts'
import { createLocalCalls } from '../local-calls.ts'
import type { LocalCall } from '../local-calls.ts'
import { withoutMeta } from '../params.ts'
import { claimKeys, readClaim } from './claims.ts'
import type { Claim } from './claims.ts'
import { startServerCall } from './request.ts'
import type { ServerCall } from './request.ts'
import { createPendingResults } from './pending-results.ts'
import { toDiscoverResult } from './result.ts'
import { createUpstreamSessions } from './sessions.ts'
import type { UpstreamSession } from './sessions.ts'
import { createDeadlines } from '../deadlines.ts'
import type { DescribeFailure, Server2025, LocalPeer, Adapter } from '../ports.ts'

/** Each is logged once. */
const maxHiddenTools = 1000

/** What {@link createAdapterFrom2026To2025} needs. */
export interface PortsFrom2026To2025 {
  local: LocalPeer
  server: Server2025
  describeFailure: DescribeFailure
  runtime: Runtime
  /** One line for a person. */
  warn(text: string): void
}

/**
 * Connects a 2026-07-28 client to a 2025 server. Sessions are opened when the first request needs one. Requests of
 * the server become `input_required` results. `take` returns at once; the answer comes later.
 */
export function createAdapterFrom2026To2025(ports: PortsFrom2026To2025): Adapter {
  const { local, runtime, describeFailure } = ports
  const deadlines = createDeadlines(runtime)
  const calls = createLocalCalls(local)
  const pendingResults = createPendingResults<ServerCall>(runtime, deadlines)
  const subscriptions = createSubscriptions()
  const active = new Set<ServerCall>()
  const sessions = createUpstreamSessions(ports.server, takeStanding)
  const hiddenTools = new Set<string>()
  let closed = false

  function hidden(toolName: unknown): void {
    const name = JSON.stringify(toolName)
    if (hiddenTools.has(name) || hiddenTools.size >= maxHiddenTools) return
    hiddenTools.add(name)
    ports.warn(`The tool ${name} is hidden: it runs as a task only, and tasks are not translated.`)
  }

  const shared = { pendingResults, runtime, describeFailure, active, hidden }

  /** Takes messages from the GET stream of a session. */
  function takeStanding(session: UpstreamSession, message: JsonRpcMessage): void | Promise<void> {
    if (closed || !('method' in message)) return
    if ('id' in message) return takeStandingRequest(session, message)
    if (isChangeNotice(message)) return subscriptions.notice(session, message)
    const own = [...active].filter((serverCall) => serverCall.session === session)
    return own.find((serverCall) => serverCall.concerns(message))?.take(message)
  }

  function takeStandingRequest(session: UpstreamSession, request: JsonRpcRequest): void | Promise<void> {
    const carriers = [...active].filter((each) => each.session === session && each.takesInput)
    const [only] = carriers
    // Old transports, and servers that do not say which call they ask for, send everything here. If there is one call, it is the one.
    if (carriers.length === 1 && only !== undefined) return only.take(request)
    const { id, method } = request
    const message = 'No call is under way that could carry a request to the client.'
    const answer = session.remote.answer(
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
      return call.answer(toDiscoverResult(session.remote.initialized))
    }
    if (method === 'subscriptions/listen') return subscriptions.serve(call, session)
    if (claim.logLevel !== undefined) await session.wantLogs(claim.logLevel, claim.logSeverity ?? 0)
    const notice = (notification: JsonRpcNotification) => subscriptions.notice(session, notification)
    startServerCall({ call, claim }, own, { ...shared, session, notice })
  }

  function resume(call: LocalCall, claim: Claim, own: JsonObject): void {
    const { inputResponses, requestState } = call.request.params ?? {}
    if (inputResponses !== undefined && !isJsonObject(inputResponses))
      throw new CallError(jsonRpcCode.invalidParams, 'inputResponses must be an object')
    const serverCall =
      typeof requestState === 'string'
        ? pendingResults.take(requestState, call.request.method, own)
        : undefined
    if (serverCall === undefined)
      throw new CallError(
        jsonRpcCode.invalidParams,
        'requestState is unknown, has expired, or is of another request',
      )
    serverCall.resume({ call, claim }, inputResponses)
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
    // The transport of each session reopens its own stream.
    reopen() {},
    async close() {
      closed = true
      calls.close()
      pendingResults.close()
      deadlines.close()
      await sessions.close()
    },
  }
}
