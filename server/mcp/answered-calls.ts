import { parseExactJson, plainNumber } from '@drawbridge/shared/exact-json.ts'
import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  addressed,
  isJsonRpcId,
  type JsonRpcId,
  type JsonRpcResponse,
  readMessageText,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { paramsOf } from '@drawbridge/shared/mcp/params.ts'
import { type HeaderParameter, readHeaderParameters } from '@drawbridge/shared/mcp/x-mcp-header.ts'
import { offersTool } from '../core/access/access-rules.ts'
import { isAllowed } from '../core/access/glob.ts'
import { scopeOfTool, type UpstreamPolicy } from '../core/gateway/upstream.ts'
import { type Call, type CallEnd, callOf, type CallOutcome } from '../core/access/call-record.ts'
import type { Caller } from '../core/tokens/caller.ts'
import { offersSignIn } from '../core/tokens/sign-in-tool.ts'
import { type Incoming, messagesIn } from './incoming.ts'
import { signInListing, withSecuritySchemes } from './tools/tool-scope.ts'
import { outcomeOf } from './tools/tool-result.ts'

/** Names beyond that come from an upstream that makes them up. */
const maxNames = 10_000

/**
 * The names of the upstream's tools, from its lists. With `learnsFromCalls`, until the first list is complete also from calls that went
 * well, so that after a start clients that have the list from before are counted by name. An error proves nothing: many servers answer so to names they do not have.
 */
export class KnownTools {
  readonly #names = new Set<string>()
  readonly #learnsFromCalls: boolean
  #hasBegun = false
  #isComplete = false

  constructor({ learnsFromCalls }: { learnsFromCalls: boolean }) {
    this.#learnsFromCalls = learnsFromCalls
  }

  /** Undefined while that cannot be told. Resources and prompts are not told apart: not every resource is in a list. */
  has({ event, name }: Call): boolean | undefined {
    if (event !== 'tool_called' || this.#names.has(name)) return true
    return this.#isComplete ? false : undefined
  }

  /** Takes the names of a page of the list. The pages are complete when there is no next one. */
  list(names: readonly string[], page: { isFirst: boolean; isLast: boolean }): void {
    for (const name of names) this.#add(name)
    this.#hasBegun ||= page.isFirst
    this.#isComplete ||= page.isLast && this.#hasBegun
  }

  /** Takes note that a call went well, and says whether its tool is known. */
  succeeded(call: Call): boolean | undefined {
    if (this.#learnsFromCalls && call.event === 'tool_called' && !this.#isComplete) this.#add(call.name)
    // Some lists are not the same for everybody.
    return this.has(call) || undefined
  }

  #add(name: string): void {
    if (this.#names.size < maxNames) this.#names.add(name)
  }
}

const maxPages = 64
/** A complete list without a name proves for this long that there is no such tool. */
const listedForMs = 1000

/** The tools that one process has, as far as it has listed them, with the arguments that headers repeat. */
export class ToolCatalogue {
  readonly #known: KnownTools
  readonly #list: (cursor: string | undefined) => Promise<unknown>
  readonly #nowMs: () => number
  readonly #tools = new Map<string, readonly HeaderParameter[]>()
  #listedAt = -Infinity
  #listing: Promise<boolean> | undefined

  /** `list` requests one page of `tools/list`. */
  constructor(
    known: KnownTools,
    list: (cursor: string | undefined) => Promise<unknown>,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#known = known
    this.#list = list
    this.#nowMs = nowMs
  }

  headerParametersOf(name: string): readonly HeaderParameter[] {
    return this.#tools.get(name) ?? []
  }

  /** Returns whether the tool exists, from the process's list if necessary. Undefined when the process cannot list its tools. */
  async knows(name: string): Promise<boolean | undefined> {
    if (this.#tools.has(name)) return true
    if (this.#nowMs() - this.#listedAt < listedForMs) return false
    this.#listing ??= this.#listAll()
      .catch(() => false)
      .finally(() => (this.#listing = undefined))
    if (!(await this.#listing)) return undefined
    return this.#tools.has(name)
  }

  expire(): void {
    this.#listedAt = -Infinity
  }

  /** Takes the `tools` of a result. */
  learn(tools: readonly unknown[]): void {
    for (const tool of tools) {
      const [name] = nameOfTool(tool)
      if (name === undefined || (this.#tools.size >= maxNames && !this.#tools.has(name))) continue
      const headers = readHeaderParameters((tool as JsonObject)['inputSchema'])
      this.#tools.set(name, headers.kind === 'faulty' ? [] : headers.parameters)
    }
  }

  async #listAll(): Promise<boolean> {
    const begunAt = this.#nowMs()
    let cursor: string | undefined
    for (let page = 0; page < maxPages; page += 1) {
      const result = await this.#list(cursor)
      if (!isJsonObject(result) || !Array.isArray(result['tools'])) return false
      const { tools, nextCursor } = result
      const isLast = typeof nextCursor !== 'string'
      this.learn(tools)
      this.#known.list(namesOfTools(tools), { isFirst: page === 0, isLast })
      if (isLast) {
        this.#listedAt = begunAt
        return true
      }
      cursor = nextCursor
    }
    return false
  }
}

/** Returns whether a caller may see and call a tool of the upstream. */
export function isOffered(name: string, { access }: Caller, policy: UpstreamPolicy): boolean {
  return isAllowed(policy, name) && offersTool(access, name, scopeOfTool(policy, name))
}

interface OpenRequest {
  id: JsonRpcId
  method: string
  isFirstPage: boolean
  call: Call | undefined
  finish: ((end: CallEnd) => void) | undefined
}

export interface AnsweredCallsPorts {
  policy: UpstreamPolicy
  known: KnownTools
  /** Replaces the ids of tasks in a message. Undefined where tasks are not passed on, and tools that need one are not listed. */
  withTaskIds: ((message: JsonObject) => JsonObject) | undefined
}

/**
 * The requests of one message or batch that the upstream has not answered. Records how their calls end, and takes from lists of tools
 * what the caller may not see; ids of tasks go on as the caller's own.
 */
export class AnsweredCalls {
  readonly #open = new Map<JsonRpcId, OpenRequest>()
  readonly #caller: Caller
  readonly #ports: AnsweredCallsPorts

  constructor({ body, caller, calls }: Incoming, ports: AnsweredCallsPorts) {
    this.#caller = caller
    this.#ports = ports
    for (const message of messagesIn(body)) {
      const { id, method } = message
      if (!isJsonRpcId(id) || typeof method !== 'string') continue
      const call = callOf(message)
      const isFirstPage = (paramsOf(message)?.['cursor'] ?? null) === null
      const key = plainNumber(id) as JsonRpcId
      this.#open.set(key, { id, method, isFirstPage, call, finish: call && calls.begin(call) })
    }
  }

  ids(): JsonRpcId[] {
    return [...this.#open.values()].map(({ id }) => id)
  }

  /**
   * Returns the text for the client of a message or batch of the upstream: the same, unless something is taken out. Undefined for
   * invalid JSON.
   */
  pass(text: string): string | undefined {
    try {
      const value: unknown = JSON.parse(text)
      if (!Array.isArray(value)) return this.#passMessage(value, text)
      const texts = (parseExactJson(text) as unknown[]).map((each) => JSON.stringify(each))
      return `[${texts.map((each, index) => this.#passMessage(value[index], each)).join(',')}]`
    } catch {
      return undefined
    }
  }

  /** {@link pass} for the response to one request. */
  passResponse(response: JsonRpcResponse): JsonRpcResponse {
    const message = response as unknown as JsonObject
    const passed = this.#withoutHidden(message)
    this.#close(message)
    return passed as unknown as JsonRpcResponse
  }

  end(outcome: CallOutcome): void {
    for (const { call, finish } of this.#open.values()) {
      if (call) finish?.({ outcome, isKnown: this.#ports.known.has(call) })
    }
    this.#open.clear()
  }

  #passMessage(given: unknown, givenText: string): string {
    if (!isJsonObject(given)) return givenText
    const { value, text } = this.#addressed(given, givenText)
    const passed = this.#textFor(value, text)
    this.#close(value, text)
    return passed
  }

  /** Gives a response the id of its request, where the upstream wrote that as text, or none in an error. */
  #addressed(value: JsonObject, text: string): { value: JsonObject; text: string } {
    const isResponse = !('method' in value) && ('result' in value || 'error' in value)
    if (!isResponse || this.#open.size === 0 || this.#answeredBy(value)) return { value, text }
    const message = addressed(readMessageText(text), new Set(this.ids()))
    return message.text === text
      ? { value, text }
      : { value: parseJsonObject(message.text) ?? value, text: message.text }
  }

  /** Throws for what is nested too deeply to be written again. */
  #textFor(value: JsonObject, text: string): string {
    const withTaskIds = text.includes('"taskId') ? this.#ports.withTaskIds : undefined
    if (!withTaskIds && this.#withoutHidden(value) === value) return text
    const own = this.#withoutHidden(parseExactJson(text) as JsonObject)
    return JSON.stringify(withTaskIds ? withTaskIds(own) : own)
  }

  /** The request that a message answers. Clients take no answer whose result or error is not an object. */
  #answeredBy(message: JsonObject): OpenRequest | undefined {
    const isResponse =
      isJsonObject(message['result']) || (isJsonObject(message['error']) && !('method' in message))
    return isResponse ? this.#open.get(plainNumber(message['id']) as JsonRpcId) : undefined
  }

  #close(message: JsonObject, text?: string): void {
    const request = this.#answeredBy(message)
    if (!request) return
    this.#open.delete(plainNumber(message['id']) as JsonRpcId)
    this.#record(request, message, text)
  }

  /** The same message, unless there is something in its result that is not for the caller. */
  #withoutHidden(message: JsonObject): JsonObject {
    const { result } = message
    if (!isJsonObject(result)) return message
    // Whatever was asked: a stream that is resumed has answers to requests of before.
    const own = this.#withoutHiddenTools(privately(withoutEvents(result)), this.#answeredBy(message))
    return own === result ? message : { ...message, result: own }
  }

  #record({ call, finish }: OpenRequest, message: JsonObject, text?: string): void {
    if (!call) return
    const { result } = message
    const outcome = isJsonObject(result) ? outcomeOf(result) : 'failed'
    finish?.({
      outcome,
      isKnown: outcome === 'ok' ? this.#ports.known.succeeded(call) : this.#ports.known.has(call),
      responseBytes: Buffer.byteLength(text ?? JSON.stringify(message)),
    })
  }

  /** The same result, unless there are tools in it that the caller may not see, or something to say of them. */
  #withoutHiddenTools(result: JsonObject, request: OpenRequest | undefined): JsonObject {
    if (!Array.isArray(result['tools'])) return result
    const tools: readonly unknown[] = result['tools']
    if (request?.method === 'tools/list') {
      const isLast = (result['nextCursor'] ?? null) === null
      this.#ports.known.list(namesOfTools(tools), { isFirst: request.isFirstPage, isLast })
    }
    const { policy, withTaskIds } = this.#ports
    const saysNeeds = policy.publicTools.size > 0
    const shown = tools.flatMap((tool) => {
      const [name] = nameOfTool(tool)
      if (name === undefined || !isOffered(name, this.#caller, policy)) return []
      if (!withTaskIds && needsTask(tool)) return []
      const needs = { isPublic: policy.publicTools.has(name), scope: scopeOfTool(policy, name) }
      return saysNeeds ? [withSecuritySchemes(tool as JsonObject, needs)] : [tool]
    })
    if (this.#offersSignIn(tools, result, request)) shown.push(signInListing)
    return shown.length === tools.length && !saysNeeds ? result : { ...result, tools: shown }
  }

  /** Once in a list: on its first page, for what may be on the others too. */
  #offersSignIn(tools: readonly unknown[], result: JsonObject, request: OpenRequest | undefined): boolean {
    const { policy } = this.#ports
    if (request?.method !== 'tools/list' || !request.isFirstPage) return false
    const names = tools.flatMap(nameOfTool).filter((name) => isAllowed(policy, name))
    const hidden = names.map((name) => ({ name, scope: scopeOfTool(policy, name) }))
    const mayBeMore = typeof result['nextCursor'] === 'string'
    return offersSignIn(this.#caller, hidden, { publicTools: policy.publicTools, mayBeMore })
  }
}

/** The same result, unless it is for every cache: the answer to one person is for that person (MCP 2026-07-28, caching). */
function privately(result: JsonObject): JsonObject {
  return result['cacheScope'] === 'public' ? { ...result, cacheScope: 'private' } : result
}

function needsTask(tool: unknown): boolean {
  const execution = isJsonObject(tool) ? tool['execution'] : undefined
  return isJsonObject(execution) && execution['taskSupport'] === 'required'
}

const eventsExtension = 'io.modelcontextprotocol/events'

/** The same result, unless it offers events: a webhook would go on after the connection that asked for it has ended. */
function withoutEvents(result: JsonObject): JsonObject {
  const { capabilities } = result
  if (!isJsonObject(capabilities)) return result
  const { events, extensions, ...others } = capabilities
  const offered = isJsonObject(extensions) ? extensions : {}
  if (events === undefined && !Object.hasOwn(offered, eventsExtension)) return result
  const { [eventsExtension]: _, ...otherExtensions } = offered
  return { ...result, capabilities: { ...others, extensions: otherExtensions } }
}

function namesOfTools(tools: readonly unknown[]): string[] {
  return tools.flatMap(nameOfTool)
}

function nameOfTool(tool: unknown): string[] {
  const name = isJsonObject(tool) ? tool['name'] : undefined
  return typeof name === 'string' ? [name] : []
}
