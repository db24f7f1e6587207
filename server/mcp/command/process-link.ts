import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { CallError } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import {
  mapServerCapabilities,
  missingCapability,
  neededCapability,
} from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import type { AdapterRuntime, ClientPort, RequestOptions } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { isChangeNotification } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  type JsonRpcId,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { logSeverity, metaOf } from '@drawbridge/shared/mcp/params.ts'
import { type KnownTools, namesOfTools } from '../answered-calls.ts'
import type { ServingContext } from '../endpoint-config.ts'
import type { GreetedProcess } from './process/handshake.ts'
import type { ForwardOptions } from './process/process-connection.ts'
import { ProcessChanges } from './process-changes.ts'
import { Questions } from './questions.ts'
import { ToolCatalogue } from './tool-catalogue.ts'
import type { ProcessClients, ServingTerms } from './process/served-process.ts'

export interface LinkTerms {
  /** The capabilities that each of its clients has declared; undefined when none can be asked. */
  declared: JsonObject | undefined
  /** Called when the last of its sessions has ended. */
  onEmpty: () => void
}

/** A client, as its process sees it: a session, or one message. */
export interface LinkedClient extends ClientPort {
  kind: ServingContext['kind']
  /** Sends it a log message that belongs to the call `id`, or to none, if its level says so. */
  log(params: JsonObject, id?: JsonRpcId): void
  close(): Promise<void>
}

/** A request of a client that is being forwarded. */
export interface OpenCall {
  client: LinkedClient
  id: JsonRpcId
}

/** Gives pending answers this long before their streams end. */
const lastAnswersMs = 100

/**
 * Links clients to the process that serves them now. It outlives processes: the next one takes the place of the one before, and clients
 * see no difference.
 */
export class ProcessLink implements ProcessClients {
  readonly sessions: Set<LinkedClient> = new Set()
  readonly calls: Set<OpenCall> = new Set()
  readonly changes: ProcessChanges = new ProcessChanges()
  readonly tools: ToolCatalogue
  readonly isShared: boolean
  readonly declared: JsonObject | undefined
  readonly runtime: AdapterRuntime
  /** Finds the latest call of 2026-07-28 that can be asked. */
  askableCall: (() => ClientPort | undefined) | undefined
  readonly questions: Questions = new Questions()
  readonly #known: KnownTools
  readonly #onEmpty: () => void
  #process: GreetedProcess | undefined
  #log: { level: string; severity: number } | undefined

  constructor(terms: ServingTerms, { declared, onEmpty }: LinkTerms) {
    this.runtime = {
      now: () => terms.runtime.now(),
      randomBytes: (length) => terms.runtime.randomBytes(length),
      sleep: (ms) => sleep(ms, undefined, { ref: false }),
    }
    this.#known = terms.known
    this.isShared = terms.upstream.process === 'shared'
    this.declared = declared
    this.#onEmpty = onEmpty
    this.tools = new ToolCatalogue(
      (cursor) => this.request('tools/list', cursor === undefined ? {} : { cursor }),
      () => performance.now(),
    )
  }

  /** The latest process. */
  get process(): GreetedProcess {
    if (!this.#process) throw new TypeError('The process has not started.')
    return this.#process
  }

  /** Returns the capabilities that clients see: a shared process cannot notify just one of them. */
  offered(capabilities: unknown): JsonObject {
    const offered = mapServerCapabilities(capabilities)
    if (!this.isShared) return offered
    const { logging: _, resources, ...rest } = offered
    return { ...rest, ...(isJsonObject(resources) && { resources: { ...resources, subscribe: false } }) }
  }

  get #capabilities(): JsonObject {
    return this.offered(this.process.presentation['capabilities'])
  }

  /** From now on clients are served by that process. It watches what the one before did, and logs from the same level on. */
  attach(process: GreetedProcess): void {
    const isOther = this.#process !== undefined && this.#process.era !== process.era
    this.#process = process
    this.tools.expire()
    this.changes.attach(process, this.#capabilities)
    const level = this.#log?.level
    this.#log = undefined
    if (level !== undefined) this.lowerLogLevel(level).catch(() => {})
    // Sessions are translated for the revision that they began with.
    if (isOther) for (const client of this.sessions) void client.close()
  }

  /** A session has ended. */
  leave(client: LinkedClient): void {
    this.sessions.delete(client)
    this.questions.leave(client)
    if (this.sessions.size === 0) this.#onEmpty()
  }

  /** The result of a request. Rejects as the process's connection does. */
  async request(method: string, params: JsonObject, options?: ForwardOptions): Promise<JsonObject> {
    const { connection, era, envelope } = this.process
    const whole = era === 'modern' ? { ...params, _meta: { ...envelope, ...metaOf(params) } } : params
    const result = await connection.request(method, whole, options)
    if (!isJsonObject(result))
      throw new CallError(
        jsonRpcCode.internalError,
        'The server answered with something that is not a result. Tell the operator of the server.',
      )
    if (method === 'tools/list' && Array.isArray(result['tools']))
      this.#learn(params, result, result['tools'])
    return result
  }

  /** {@link request} for an adapter: the process's error is a response too. */
  async respond(
    { id, method, params = {} }: JsonRpcRequest,
    { signal, onMessage }: RequestOptions = {},
  ): Promise<JsonRpcResponse> {
    const onProgress = (progress: JsonObject): void =>
      void onMessage?.({ jsonrpc: '2.0', method: 'notifications/progress', params: progress })
    try {
      const result = await this.request(method, params, { ...(signal && { signal }), onProgress })
      return { jsonrpc: '2.0', id, result }
    } catch (error) {
      if (!(error instanceof CallError)) throw error
      return jsonRpcError(id, error.code, error.message, error.data)
    }
  }

  notify(method: string, params: JsonObject): void {
    this.process.connection.notify(method, params)
  }

  /** A process of the revisions up to 2025-11-25 has one level for all: the lowest that anybody wants. */
  async lowerLogLevel(level: unknown): Promise<void> {
    const severity = logSeverity(level)
    if (typeof level !== 'string' || severity === undefined) return
    if (severity >= (this.#log?.severity ?? Infinity) || !isJsonObject(this.#capabilities['logging'])) return
    this.#log = { level, severity }
    if (this.process.era === 'legacy') await this.request('logging/setLevel', { level })
  }

  /** Passes on what the process says unasked. What could be about anybody goes to nobody. */
  onNotification(notification: JsonRpcNotification): void {
    const { method, params = {} } = notification
    if (method === 'notifications/tools/list_changed') this.tools.expire()
    if (method === 'notifications/message') this.#passLog(params)
    else if (method === 'notifications/cancelled') this.questions.cancel(params['requestId'])
    else if (isChangeNotification(notification)) this.changes.report(notification)
    // Any other only concerns a client whom the process can ask.
    else if (this.declared && !method.startsWith('notifications/tasks/'))
      for (const client of this.sessions) void client.send(notification)
  }

  /** Asks a client on behalf of the process: that of the latest call of 2026-07-28, or else of the session. */
  onRequest(request: JsonRpcRequest, answer: (response: JsonRpcResponse) => void): void {
    const { id, method } = request
    const [session] = this.sessions
    const asked = this.declared && (this.askableCall?.() ?? session)
    const refusal = this.#refusalOf(request, asked)
    if (!asked || refusal !== undefined) {
      const text = `${method.slice(0, 100)} is not possible: ${refusal}.`
      return answer(jsonRpcError(id, jsonRpcCode.methodNotFound, text))
    }
    // The stream of a call is one that every client reads.
    const relatedTo = [...this.calls].findLast(({ client }) => client === asked)?.id
    this.questions.ask(request, { asked, relatedTo, answer })
  }

  /** Ends all sessions and streams. Calls get their errors from the end of the process. */
  async close(): Promise<void> {
    await sleep(lastAnswersMs)
    this.changes.close()
    await Promise.all([...this.sessions].map((client) => client.close()))
  }

  #refusalOf({ method, params }: JsonRpcRequest, asked: ClientPort | undefined): string | undefined {
    if (this.isShared) return 'this process serves everybody and can ask nobody'
    if (!asked) return 'no client of this process has declared at initialize that it can be asked'
    const needed = neededCapability(method, params)
    const isDeclared = needed && !missingCapability(needed, this.declared ?? {})
    // What a call of 2026-07-28 lacks, its result says.
    if (isDeclared || !this.sessions.has(asked as LinkedClient)) return undefined
    return 'the client has not declared it at initialize'
  }

  #learn(params: JsonObject, { nextCursor }: JsonObject, tools: readonly unknown[]): void {
    this.tools.learn(tools)
    const page = { isFirst: params['cursor'] === undefined, isLast: nextCursor === undefined }
    this.#known.list(namesOfTools(tools), page)
  }

  /** To the call that is open, if there is just one, otherwise to the sessions. */
  #passLog(params: JsonObject): void {
    if (this.isShared) return
    const [only, ...others] = this.calls
    if (only && others.length === 0 && only.client.kind !== 'stateless') only.client.log(params, only.id)
    else for (const client of this.sessions) client.log(params)
  }
}
