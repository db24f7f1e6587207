import { isJsonObject, type JsonObject } from '../../../json-object.ts'
import { jsonRpcCode, type JsonRpcMessage, type JsonRpcRequest } from '../../json-rpc.ts'
import { CallError, errorObject } from '../call-error.ts'
import { ClientCalls, type ClientCall } from '../client-calls.ts'
import { inputMethods } from '../input-required.ts'
import { withoutMeta } from '../../params.ts'
import type { Adapter, AdapterPorts, Server2025 } from '../ports.ts'
import { claimKeys, readClaims, type Claims } from './claims.ts'
import { PendingResults } from './input-requests.ts'
import { toDiscoverResult } from './result.ts'
import { ServerCall } from './server-call.ts'
import { type UpstreamSession, UpstreamSessions } from './sessions.ts'
import { Subscriptions } from './subscriptions.ts'
import { isChangeNotification } from '../subscription-filter.ts'

export interface PortsFrom2026To2025 extends AdapterPorts {
  server: Server2025
  /** Shows one line to a person. */
  warn(text: string): void
}

/**
 * Connects a 2026-07-28 client to a 2025 server. Sessions are opened when the first request needs one. Requests of
 * the server become `input_required` results.
 */
export function createAdapterFrom2026To2025(ports: PortsFrom2026To2025): Adapter {
  return new AdapterFrom2026To2025(ports)
}

class AdapterFrom2026To2025 implements Adapter {
  readonly #ports: PortsFrom2026To2025
  readonly #calls: ClientCalls
  readonly #pendingResults: PendingResults<ServerCall>
  readonly #subscriptions = new Subscriptions()
  readonly #active = new Set<ServerCall>()
  readonly #sessions: UpstreamSessions
  readonly #warnOfHiddenTool: (toolName: unknown) => void
  #isClosed = false

  constructor(ports: PortsFrom2026To2025) {
    this.#ports = ports
    this.#calls = new ClientCalls(ports.client)
    this.#pendingResults = new PendingResults(ports.runtime)
    this.#warnOfHiddenTool = createHiddenToolWarning((text) => ports.warn(text))
    this.#sessions = new UpstreamSessions(ports.server, (session, message) =>
      this.#isClosed ? undefined : this.#onGetStream(session, message),
    )
  }

  async receive(message: JsonRpcMessage): Promise<void> {
    if (!('method' in message)) return
    if ('id' in message) {
      const call = this.#calls.begin(message)
      if (call !== undefined) void this.#serve(call)
    } else if (message.method === 'notifications/cancelled') {
      this.#calls.cancel(message.params?.['requestId'], message.params?.['reason'])
    }
  }

  // The transport of each session reopens its own stream.
  reopen(): void {}

  async close(): Promise<void> {
    this.#isClosed = true
    this.#calls.close()
    this.#pendingResults.close()
    await this.#sessions.close()
  }

  async #serve(call: ClientCall): Promise<void> {
    try {
      await this.#dispatch(call, readClaims(call.request))
    } catch (error) {
      if (call.isOpen()) await call.fail(errorObject(error, this.#ports.describeFailure))
    }
  }

  async #dispatch(call: ClientCall, claims: Claims): Promise<void> {
    const { method, params = {} } = call.request
    const { inputResponses: _, requestState, ...rest } = params
    const takesInput = inputMethods.has(method)
    const params2025 = withoutMeta(takesInput ? rest : params, claimKeys)
    if (takesInput && requestState !== undefined) return this.#resume(call, claims, params2025)
    const session = await this.#sessions.acquire(claims)
    if (!call.isOpen()) return session.release()
    if (method === 'server/discover') {
      session.release()
      return call.answer(toDiscoverResult(session.remote.initialized))
    }
    if (method === 'subscriptions/listen') return this.#subscriptions.serve(call, session)
    if (claims.logLevel !== undefined) await session.lowerLogLevel(claims.logLevel, claims.logSeverity ?? 0)
    const serverCall = new ServerCall(method, params2025, {
      session,
      pendingResults: this.#pendingResults,
      runtime: this.#ports.runtime,
      describeFailure: this.#ports.describeFailure,
      active: this.#active,
      onChange: (notification) => this.#subscriptions.notify(session, notification),
      onHiddenTool: this.#warnOfHiddenTool,
    })
    serverCall.start({ call, claims })
  }

  /** Continues the call that the `requestState` of a retry stands for. */
  #resume(call: ClientCall, claims: Claims, params2025: JsonObject): void {
    const { inputResponses, requestState } = call.request.params ?? {}
    if (inputResponses !== undefined && !isJsonObject(inputResponses))
      throw new CallError(jsonRpcCode.invalidParams, 'inputResponses must be an object')
    const serverCall =
      typeof requestState === 'string'
        ? this.#pendingResults.take(requestState, call.request.method, params2025)
        : undefined
    if (serverCall === undefined)
      throw new CallError(
        jsonRpcCode.invalidParams,
        'requestState is unknown, expired, or belongs to another request',
      )
    serverCall.resume({ call, claims }, inputResponses)
  }

  /**
   * Gives what arrives on the GET stream of a session to the subscriptions or to the call that it belongs to. Old transports,
   * and servers that do not say which call they ask for, send their requests there.
   */
  #onGetStream(session: UpstreamSession, message: JsonRpcMessage): void | Promise<void> {
    if (!('method' in message)) return
    const calls = [...this.#active].filter((call) => call.session === session)
    if ('id' in message) {
      const [call, ...others] = calls.filter(({ takesInput }) => takesInput)
      // With several calls there is no telling which one it belongs to.
      return call !== undefined && others.length === 0 ? call.receive(message) : refuse(session, message)
    }
    if (isChangeNotification(message)) return this.#subscriptions.notify(session, message)
    return calls.find((call) => call.concerns(message))?.receive(message)
  }
}

function refuse({ remote }: UpstreamSession, { id, method }: JsonRpcRequest): Promise<void> {
  const message = 'No running call can pass this request to the client.'
  const answer = remote.answer(
    method === 'ping'
      ? { jsonrpc: '2.0', id, result: {} }
      : { jsonrpc: '2.0', id, error: { code: jsonRpcCode.methodNotFound, message } },
  )
  return answer.catch(() => {})
}

const maxHiddenTools = 1000

function createHiddenToolWarning(warn: (text: string) => void): (toolName: unknown) => void {
  const hidden = new Set<string>()
  return (toolName) => {
    const name = JSON.stringify(toolName)
    if (hidden.has(name) || hidden.size >= maxHiddenTools) return
    hidden.add(name)
    warn(`The tool ${name} is hidden: it runs only as a task, and tasks are not supported.`)
  }
}
