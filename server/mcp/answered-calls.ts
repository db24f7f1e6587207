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
import { offersTool } from '../core/access/access-rules.ts'
import { isAllowed } from '../core/access/glob.ts'
import { type Call, type CallEnd, callOf, type CallOutcome } from '../core/access/call-record.ts'
import type { Caller } from '../core/tokens/caller.ts'
import { offersSignIn } from '../core/tokens/sign-in-tool.ts'
import { type Incoming, messagesIn } from './incoming.ts'
import { type KnownTools, nameOfTool } from './known-tools.ts'
import { signInListing, withSecuritySchemes } from './tools/tool-scope.ts'
import { outcomeOf } from './tools/tool-result.ts'

/** Returns whether a caller may see and call a tool of the upstream. */
export function isOffered(name: string, { access }: Caller, known: KnownTools): boolean {
  return isAllowed(known.policy, name) && offersTool(access, name, known.scopeOf(name))
}

interface OpenRequest {
  id: JsonRpcId
  method: string
  isFirstPage: boolean
  call: Call | undefined
  finish: ((end: CallEnd) => void) | undefined
}

export interface AnsweredCallsPorts {
  known: KnownTools
  /** Replaces the task ids in a message. Undefined where tasks are not passed on; tools that require one are then not listed. */
  withTaskIds: ((message: JsonObject) => JsonObject) | undefined
}

/**
 * The unanswered requests of one message or batch to an upstream. Records how their calls end, removes hidden tools from lists, and
 * replaces task ids by the caller's own.
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

  /** Returns the ids of the requests that are still unanswered. */
  ids(): JsonRpcId[] {
    return [...this.#open.values()].map(({ id }) => id)
  }

  /** Returns the text that the client gets of an upstream's message or batch: unchanged where possible. Undefined for invalid JSON. */
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

  /** Does the same as {@link pass} for the response to one request. */
  passResponse(response: JsonRpcResponse): JsonRpcResponse {
    const message = response as unknown as JsonObject
    const passed = this.#withoutHidden(message)
    this.#close(message)
    return passed as unknown as JsonRpcResponse
  }

  /** Records `outcome` for the calls that are still unanswered. */
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

  /** Restores the id of a response if the upstream wrote it as text, or left it out of an error. */
  #addressed(value: JsonObject, text: string): { value: JsonObject; text: string } {
    const isResponse = !('method' in value) && ('result' in value || 'error' in value)
    if (!isResponse || this.#open.size === 0 || this.#answeredBy(value)) return { value, text }
    const message = addressed(readMessageText(text), new Set(this.ids()))
    return message.text === text
      ? { value, text }
      : { value: parseJsonObject(message.text) ?? value, text: message.text }
  }

  /** Throws if the message is nested too deeply to be written again. */
  #textFor(value: JsonObject, text: string): string {
    const withTaskIds = text.includes('"taskId') ? this.#ports.withTaskIds : undefined
    if (!withTaskIds && this.#withoutHidden(value) === value) return text
    const own = this.#withoutHidden(parseExactJson(text) as JsonObject)
    return JSON.stringify(withTaskIds ? withTaskIds(own) : own)
  }

  /** Returns the request that a message answers. A result or error that is not an object answers none, as clients reject it. */
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

  /** Returns the message without anything in its result that the caller may not see; the same object if there is nothing. */
  #withoutHidden(message: JsonObject): JsonObject {
    const { result } = message
    if (!isJsonObject(result)) return message
    // Also for an unknown request: a resumed stream has responses to earlier ones.
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

  /** Removes hidden tools from a result, and adds the needs of the others; the same object if nothing changes. */
  #withoutHiddenTools(result: JsonObject, request: OpenRequest | undefined): JsonObject {
    if (!Array.isArray(result['tools'])) return result
    const tools: readonly unknown[] = result['tools']
    if (request?.method === 'tools/list') {
      const isLast = (result['nextCursor'] ?? null) === null
      this.#ports.known.list(tools, { isFirst: request.isFirstPage, isLast })
    }
    const { known, withTaskIds } = this.#ports
    const { publicTools } = known.policy
    const saysNeeds = publicTools.size > 0
    const shown = tools.flatMap((tool) => {
      const [name] = nameOfTool(tool)
      if (name === undefined || !isOffered(name, this.#caller, known)) return []
      if (!withTaskIds && needsTask(tool)) return []
      const needs = { isPublic: publicTools.has(name), scope: known.scopeOf(name) }
      return saysNeeds ? [withSecuritySchemes(tool as JsonObject, needs)] : [tool]
    })
    if (this.#offersSignIn(tools, result, request)) shown.push(signInListing)
    return shown.length === tools.length && !saysNeeds ? result : { ...result, tools: shown }
  }

  /** Decides on the first page of a list, for all of its pages. */
  #offersSignIn(tools: readonly unknown[], result: JsonObject, request: OpenRequest | undefined): boolean {
    const { known } = this.#ports
    const { policy } = known
    if (request?.method !== 'tools/list' || !request.isFirstPage) return false
    const names = tools.flatMap(nameOfTool).filter((name) => isAllowed(policy, name))
    const hidden = names.map((name) => ({ name, scope: known.scopeOf(name) }))
    const mayBeMore = typeof result['nextCursor'] === 'string'
    return offersSignIn(this.#caller, hidden, { publicTools: policy.publicTools, mayBeMore })
  }
}

/** Marks a result as private to its user, whatever the upstream allows caches to do (MCP 2026-07-28, caching). */
function privately(result: JsonObject): JsonObject {
  return result['cacheScope'] === 'public' ? { ...result, cacheScope: 'private' } : result
}

function needsTask(tool: unknown): boolean {
  const execution = isJsonObject(tool) ? tool['execution'] : undefined
  return isJsonObject(execution) && execution['taskSupport'] === 'required'
}

const eventsExtension = 'io.modelcontextprotocol/events'

/** Removes the offer of events: a webhook would outlive the connection that requested it. */
function withoutEvents(result: JsonObject): JsonObject {
  const { capabilities } = result
  if (!isJsonObject(capabilities)) return result
  const { events, extensions, ...others } = capabilities
  const offered = isJsonObject(extensions) ? extensions : {}
  if (events === undefined && !Object.hasOwn(offered, eventsExtension)) return result
  const { [eventsExtension]: _, ...otherExtensions } = offered
  return { ...result, capabilities: { ...others, extensions: otherExtensions } }
}
