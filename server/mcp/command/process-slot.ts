import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { CallError } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import { mapServerCapabilities, withoutNotifications } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import { isChangeNotification } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import {
  jsonRpcCode,
  type JsonRpcId,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { type HeaderParameter, readHeaderParameters } from '@drawbridge/shared/mcp/x-mcp-header.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import { maxToolNames, nameOfTool } from '../known-tools.ts'
import type { ServingContext } from '../endpoint-config.ts'
import { ProcessChanges } from './process/process-changes.ts'
import type { GreetedProcess } from './process/handshake.ts'
import type { ForwardOptions, ProcessClients } from './process/process-connection.ts'
import type { CommandProcess, ServingTerms } from './process/command-process.ts'
import { ProcessUse } from './process-use.ts'
import { Questions, type ClientPort } from './questions.ts'

export interface SlotTerms {
  /** The user and workspace, or the grant, whose processes are no one else's. */
  owner: string
  userId: string
  /** Undefined when it is for everybody. */
  sub: string | undefined
  /** The capabilities of the session that owns the process; undefined when the process serves calls without a session, or everybody. */
  declared: JsonObject | undefined
  /** Resolves when the slot has a process that serves the caller. */
  serve: (caller: Caller) => Promise<void>
  /** Called when nothing needs the process any more: its session has ended, or its last call when it has died. */
  onUnused: () => void
  /** Called when no call has been open for as long as a process is kept. */
  onIdle: () => void
}

/** A client, as its process sees it: a session, or one message. */
export interface SlotClient extends ClientPort {
  kind: ServingContext['kind']
  close(): Promise<void>
}

export interface OpenCall {
  client: SlotClient
  id: JsonRpcId
  /** Whether the client has asked for log messages, or is a session. From which level on is for the process to know. */
  takesLogs: boolean
}

/** Gives pending answers this long before their streams end. */
const lastAnswersMs = 100
/** Bounds the subscriptions that are repeated to the next process of a session. */
const maxRepeatedLength = 256 * 1024

/**
 * The place of one process: of a session, of a person's calls without a session, or of everybody. The next process takes the place of
 * one that has ended, and clients see no difference.
 */
export class ProcessSlot implements ProcessClients {
  readonly terms: SlotTerms
  readonly runtime: ServingTerms['runtime']
  readonly isShared: boolean
  readonly use: ProcessUse
  /** The session that owns the process, or those that share it. */
  readonly sessions: Set<SlotClient> = new Set()
  readonly changes: ProcessChanges = new ProcessChanges()
  readonly questions: Questions = new Questions()
  /** The arguments that clients repeat in headers, by tool, as the process has listed them. */
  readonly headerParameters: Map<string, readonly HeaderParameter[]> = new Map()
  /** The process that serves, starts, or has failed to. */
  process: CommandProcess | undefined
  /** Settled when the process serves, or cannot. */
  ready: Promise<void> | undefined
  /** True from the moment it begins to end. */
  isOver = false
  /** The last caller, against whom a death of the process is counted too. */
  latestCaller: string | undefined
  readonly #calls = new Set<OpenCall>()
  /** Settings that a session has sent to its process, to be repeated to the next process. */
  readonly #repeated = new Map<string, Pick<JsonRpcRequest, 'method' | 'params'>>()
  #greeted: GreetedProcess | undefined

  constructor({ upstream, runtime }: ServingTerms, terms: SlotTerms) {
    this.terms = terms
    this.runtime = runtime
    this.isShared = upstream.process === 'shared'
    this.use = new ProcessUse(runtime, upstream.idleSeconds * 1000, terms.onIdle)
  }

  get declared(): JsonObject | undefined {
    return this.terms.declared
  }

  /** The most recent process that completed its handshake. */
  get greeted(): GreetedProcess {
    if (!this.#greeted) throw new TypeError('The process has not started.')
    return this.#greeted
  }

  /** Keeps it from ending until `use.over()`, and resolves when a process serves the caller. Rejects with `Unavailable`. */
  async hold(caller: Caller): Promise<void> {
    this.use.begin()
    await this.terms.serve(caller).catch((error: unknown) => {
      this.use.over()
      if (this.sessions.size === 0) this.terms.onUnused()
      throw error
    })
  }

  /** Counts a call until the returned function is called. */
  begin(call: OpenCall, { user }: Caller): () => void {
    this.#calls.add(call)
    this.latestCaller = callerName(user)
    this.use.begin()
    return () => {
      this.#calls.delete(call)
      this.use.over()
    }
  }

  /** Takes the process out; its clients stay. */
  vacate(): CommandProcess | undefined {
    const { process } = this
    this.process = undefined
    this.ready = undefined
    return process
  }

  /** Returns how the process presents itself to such clients, with the capabilities that they have here. */
  presentationFor(kind: ServingContext['kind']): JsonObject {
    const { presentation } = this.greeted
    const offered = offeredCapabilities(presentation['capabilities'], this.isShared)
    return { ...presentation, capabilities: kind === 'stateless' ? withoutNotifications(offered) : offered }
  }

  /** Serves clients by that process from now on, with the log level and subscriptions of the one before. */
  attach(process: GreetedProcess): void {
    const isOther = this.#greeted !== undefined && this.#greeted.era !== process.era
    this.#greeted = process
    if (process.era === 'modern')
      this.changes.attach(process, offeredCapabilities(process.presentation['capabilities'], this.isShared))
    for (const { method, params = {} } of this.#repeated.values())
      this.request(method, params).catch(() => {})
    if (!isOther) return
    // Sessions and subscriptions keep the revision that they began with.
    this.changes.close()
    for (const client of this.sessions) void client.close()
  }

  leave(client: SlotClient): void {
    this.sessions.delete(client)
    if (this.sessions.size === 0) this.terms.onUnused()
  }

  /** The result of a request. Rejects as the process's connection does. */
  async request(method: string, params: JsonObject, options: ForwardOptions = {}): Promise<JsonObject> {
    const { connection, era, envelope } = this.greeted
    if (method === 'subscriptions/listen') return this.changes.serve(params, options)
    const whole = era === 'modern' ? { ...params, _meta: { ...envelope, ...metaOf(params) } } : params
    const result = await connection.request(method, whole, options)
    if (!isJsonObject(result))
      throw new CallError(
        jsonRpcCode.internalError,
        'The server answered with something that is not a result. Tell the operator of the server.',
      )
    if (method === 'tools/list') this.#recordHeaderParameters(result['tools'])
    if (era === 'legacy') this.#recordRepeated(method, params)
    const { _meta, ...others } = result
    // Some write null for a member that is not there, or an empty array for an object.
    return _meta === undefined || isJsonObject(_meta) ? result : others
  }

  #recordHeaderParameters(tools: unknown): void {
    for (const tool of Array.isArray(tools) ? tools : []) {
      const [name] = nameOfTool(tool)
      if (name === undefined || this.headerParameters.size >= maxToolNames) continue
      const headers = readHeaderParameters((tool as JsonObject)['inputSchema'])
      this.headerParameters.set(name, headers.kind === 'faulty' ? [] : headers.parameters)
    }
  }

  #recordRepeated(method: string, params: JsonObject): void {
    const { uri } = params
    const key = typeof uri === 'string' ? uri : method
    if (method === 'resources/unsubscribe') this.#repeated.delete(key)
    if (method !== 'logging/setLevel' && method !== 'resources/subscribe') return
    const length = [...this.#repeated.keys(), key].join('').length
    if (length <= maxRepeatedLength) this.#repeated.set(key, { method, params })
  }

  /** Passes on a notification of the process. One that cannot be attributed to a client is dropped. */
  onNotification(notification: JsonRpcNotification): void {
    const { method, params = {} } = notification
    if (method === 'notifications/message') this.#passLog(notification)
    else if (method === 'notifications/cancelled') this.questions.cancel(params['requestId'])
    else if (this.#greeted?.era === 'modern' && isChangeNotification(notification))
      this.changes.report(notification)
    else if (this.isShared ? method.endsWith('/list_changed') : !method.startsWith('notifications/tasks/'))
      for (const client of this.sessions) void client.send(notification)
  }

  /** Asks the session on behalf of its process. */
  onRequest(request: JsonRpcRequest, answer: (response: JsonRpcResponse) => void): void {
    const { declared } = this
    const [client] = this.sessions
    // The stream of a call is one that every client reads.
    const relatedTo = [...this.#calls].at(-1)?.id
    this.questions.ask(request, declared && client && { client, declared, relatedTo }, answer)
  }

  /** Ends all sessions and streams. Calls get their errors from the end of the process. */
  async close(): Promise<void> {
    await sleep(lastAnswersMs)
    this.changes.close()
    await Promise.all([...this.sessions].map((client) => client.close()))
  }

  /** To the call that is open, if there is just one, otherwise to the sessions. */
  #passLog(notification: JsonRpcNotification): void {
    if (this.isShared) return
    const [only, ...others] = this.#calls
    if (only?.takesLogs && others.length === 0) void only.client.send(notification, only.id)
    else for (const client of this.sessions) void client.send(notification)
  }
}

/** A shared process cannot notify just one client. */
function offeredCapabilities(given: unknown, isShared: boolean): JsonObject {
  const offered = mapServerCapabilities(given)
  if (!isShared) return offered
  const { logging: _, resources, ...rest } = offered
  return { ...rest, ...(isJsonObject(resources) && { resources: { ...resources, subscribe: false } }) }
}

/** The name under which deaths are counted. Callers who have not signed in are one. */
export function callerName(user: Caller['user']): string {
  return user?.id ?? 'anonymous'
}
