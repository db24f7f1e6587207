import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { CallError } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import { mapServerCapabilities } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import type { ClientPort } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { isChangeNotification } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import {
  jsonRpcCode,
  type JsonRpcId,
  type JsonRpcNotification,
  type JsonRpcRequest,
  type JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { logSeverity, metaOf } from '@drawbridge/shared/mcp/params.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { ToolCatalogue } from '../tool-catalogue.ts'
import type { ServingContext } from '../endpoint-config.ts'
import { ProcessChanges } from './process/process-changes.ts'
import type { GreetedProcess } from './process/handshake.ts'
import type { ForwardOptions, ProcessClients } from './process/process-connection.ts'
import type { ServedProcess, ServingTerms } from './process/served-process.ts'
import { Questions } from './questions.ts'

export interface SlotTerms {
  key: string
  userId: string
  /** Undefined when it is for everybody. */
  sub: string | undefined
  /** True when it serves one session only. */
  isOwn: boolean
  /** The capabilities that each of its clients has declared; undefined when none can be asked. */
  declared: JsonObject | undefined
  /** Called when the last of its sessions has ended. */
  onEmpty: (slot: ProcessSlot) => void
  /** Called when no call has been open for as long as a process is kept. */
  onIdle: (slot: ProcessSlot) => void
}

/** A client, as its process sees it: a session, or one message. */
export interface SlotClient extends ClientPort {
  kind: ServingContext['kind']
  /** Sends it a log message that belongs to the call `id`, or to none, if its level says so. */
  log(params: JsonObject, id?: JsonRpcId): void
  close(): Promise<void>
}

export interface OpenCall {
  client: SlotClient
  id: JsonRpcId
}

/** Gives pending answers this long before their streams end. */
const lastAnswersMs = 100

/**
 * The place of one process in the pool, with its clients and its use. Processes come and go in it: the next one takes the place of the
 * one before, and clients see no difference.
 */
export class ProcessSlot implements ProcessClients {
  readonly terms: SlotTerms
  readonly runtime: ServingTerms['runtime']
  readonly isShared: boolean
  readonly use: SlotUse
  readonly sessions: Set<SlotClient> = new Set()
  readonly calls: Set<OpenCall> = new Set()
  readonly changes: ProcessChanges = new ProcessChanges()
  readonly questions: Questions = new Questions()
  readonly tools: ToolCatalogue
  /** The process that serves, starts, or has failed to. */
  process: ServedProcess | undefined
  /** Settled when the process serves, or cannot. */
  ready: Promise<void> | undefined
  /** True from the moment it begins to end. */
  isOver = false
  /** Its deaths are counted under it too. */
  latestCaller: string | undefined
  #greeted: GreetedProcess | undefined
  #log: { level: string; severity: number } | undefined

  constructor({ upstream, runtime, known }: ServingTerms, terms: SlotTerms) {
    this.terms = terms
    this.runtime = runtime
    this.isShared = upstream.process === 'shared'
    this.use = new SlotUse(runtime, {
      isOwn: terms.isOwn,
      idleMs: upstream.idleSeconds * 1000,
      onIdle: () => {
        if (!this.isOver) terms.onIdle(this)
      },
    })
    this.tools = new ToolCatalogue(known, (cursor) =>
      this.request('tools/list', cursor === undefined ? {} : { cursor }),
    )
  }

  get declared(): JsonObject | undefined {
    return this.terms.declared
  }

  /** The latest process that has said what it is. */
  get greeted(): GreetedProcess {
    if (!this.#greeted) throw new TypeError('The process has not started.')
    return this.#greeted
  }

  /** Takes the process out; its clients stay. */
  vacate(): ServedProcess | undefined {
    const { process } = this
    this.process = undefined
    this.ready = undefined
    return process
  }

  /** Returns the capabilities that clients see: a shared process cannot notify just one of them. */
  offered(capabilities: unknown): JsonObject {
    const offered = mapServerCapabilities(capabilities)
    if (!this.isShared) return offered
    const { logging: _, resources, ...rest } = offered
    return { ...rest, ...(isJsonObject(resources) && { resources: { ...resources, subscribe: false } }) }
  }

  get #capabilities(): JsonObject {
    return this.offered(this.greeted.presentation['capabilities'])
  }

  /** From now on clients are served by that process. It watches what the one before did, and logs from the same level on. */
  attach(process: GreetedProcess): void {
    const isOther = this.#greeted !== undefined && this.#greeted.era !== process.era
    this.#greeted = process
    this.tools.expire()
    this.changes.attach(process, this.#capabilities)
    const level = this.#log?.level
    this.#log = undefined
    if (level !== undefined) this.lowerLogLevel(level).catch(() => {})
    // Sessions are adapted to the revision that they began with.
    if (isOther) for (const client of this.sessions) void client.close()
  }

  leave(client: SlotClient): void {
    this.sessions.delete(client)
    this.questions.leave(client)
    if (this.sessions.size === 0) this.terms.onEmpty(this)
  }

  /** The result of a request. Rejects as the process's connection does. */
  async request(method: string, params: JsonObject, options?: ForwardOptions): Promise<JsonObject> {
    const { connection, era, envelope } = this.greeted
    const whole = era === 'modern' ? { ...params, _meta: { ...envelope, ...metaOf(params) } } : params
    const result = await connection.request(method, whole, options)
    if (!isJsonObject(result))
      throw new CallError(
        jsonRpcCode.internalError,
        'The server answered with something that is not a result. Tell the operator of the server.',
      )
    if (method === 'tools/list' && Array.isArray(result['tools'])) this.tools.learn(result['tools'])
    const { _meta, ...others } = result
    // Some write null for a member that is not there, or an empty array for an object.
    return _meta === undefined || isJsonObject(_meta) ? result : others
  }

  /** A process of the revisions up to 2025-11-25 has one level for all: the lowest that anybody wants. */
  async lowerLogLevel(level: unknown): Promise<void> {
    const severity = logSeverity(level)
    if (typeof level !== 'string' || severity === undefined) return
    if (severity >= (this.#log?.severity ?? Infinity) || !isJsonObject(this.#capabilities['logging'])) return
    this.#log = { level, severity }
    if (this.greeted.era === 'legacy') await this.request('logging/setLevel', { level })
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

  /** Asks the session on behalf of its process. */
  onRequest(request: JsonRpcRequest, answer: (response: JsonRpcResponse) => void): void {
    const { isShared, declared } = this
    const [session] = this.sessions
    const asked = declared && session
    // The stream of a call is one that every client reads.
    const relatedTo = [...this.calls].findLast(({ client }) => client === asked)?.id
    this.questions.ask(request, { asked, isShared, declared, relatedTo }, answer)
  }

  /** Ends all sessions and streams. Calls get their errors from the end of the process. */
  async close(): Promise<void> {
    await sleep(lastAnswersMs)
    this.changes.close()
    await Promise.all([...this.sessions].map((client) => client.close()))
  }

  /** To the call that is open, if there is just one, otherwise to the sessions. */
  #passLog(params: JsonObject): void {
    if (this.isShared) return
    const [only, ...others] = this.calls
    if (only && others.length === 0 && only.client.kind !== 'stateless') only.client.log(params, only.id)
    else for (const client of this.sessions) client.log(params)
  }
}

/** A process used within this time is not ended to make room. */
const spareSeconds = 120
/** The same for a session whose client does not listen: it may have left without a word. */
const silentSeconds = 30
/** A client that has opened a session, or whose stream broke, comes back within this time; else it is taken for gone. */
const returnSeconds = 5

interface UseTerms {
  isOwn: boolean
  idleMs: number
  onIdle: () => void
}

/** When a process was last used, and whether its only session's client is still there. */
export class SlotUse {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #terms: UseTerms
  #calls = 0
  #usedAt: number
  #isListening = false
  /** Since when the client, which has opened the session or stopped listening, has not come back. */
  #missingSince: number | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(runtime: Pick<Runtime, 'now'>, terms: UseTerms) {
    this.#runtime = runtime
    this.#terms = terms
    this.#usedAt = runtime.now()
    this.#missingSince = this.#usedAt
  }

  get isIdle(): boolean {
    return this.#calls === 0
  }

  /** For how many seconds it has been idle; 0 while it is not. */
  get idleSeconds(): number {
    return this.isIdle ? this.#runtime.now() - this.#usedAt : 0
  }

  /** True when it may be ended to make room. Many programs end without ending their session. */
  get isSpare(): boolean {
    if (!this.#terms.isOwn || this.#isListening) return this.idleSeconds >= spareSeconds
    const missingSeconds = this.#runtime.now() - (this.#missingSince ?? Infinity)
    return this.idleSeconds >= (missingSeconds >= returnSeconds ? returnSeconds : silentSeconds)
  }

  /** A client of it listens to notifications, or has stopped. */
  listens(isListening: boolean): void {
    this.#isListening = isListening
    this.#missingSince = isListening ? undefined : this.#runtime.now()
  }

  /** A client of it has come back with another message. */
  hears(): void {
    this.#missingSince = undefined
  }

  begin(): void {
    this.#calls += 1
    this.stop()
  }

  over(): void {
    this.#calls -= 1
    if (this.#calls > 0) return
    this.#usedAt = this.#runtime.now()
    this.#timer = setTimeout(this.#terms.onIdle, this.#terms.idleMs).unref()
  }

  /** Forgets when it is going to be idle. */
  stop(): void {
    clearTimeout(this.#timer)
  }
}
