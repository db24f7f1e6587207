import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { offersTool } from '../../core/access/access-rules.ts'
import { needsOfTool, offersUpstreamTool, scopeOfTool } from '../../core/gateway/upstream-policy.ts'
import type { UpstreamPolicy } from '../../core/gateway/upstream.ts'
import { type Call, type CallEnd, callOf, type CallOutcome } from '../../core/tokens/call-record.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import type { Incoming } from '../incoming.ts'
import { withSecuritySchemes } from '../tools/security-schemes.ts'
import { outcomeOf } from '../tools/tool.ts'

/** Names beyond that come from an upstream that makes them up. */
const maxNames = 10_000

/** The names of the upstream's tools, resources and prompts, as far as its answers told them. */
export class KnownNames {
  readonly #names = new Set<string>()

  has(call: Call): boolean {
    return this.#names.has(keyOf(call))
  }

  add(call: Pick<Call, 'event' | 'name'>): void {
    if (this.#names.size < maxNames) this.#names.add(keyOf(call))
  }
}

function keyOf({ event, name }: Pick<Call, 'event' | 'name'>): string {
  return `${event} ${name}`
}

/** Whether a caller may see and call a tool of the upstream. */
export function isOffered(name: string, { access }: Caller, policy: UpstreamPolicy): boolean {
  return offersUpstreamTool(policy, name) && offersTool(access, name, scopeOfTool(policy, name))
}

interface OpenRequest {
  method: string
  call: Call | undefined
  finish: ((end: CallEnd) => void) | undefined
}

/**
 * The requests of one message or batch that the upstream has not answered. Records how their calls end, and takes from lists of tools
 * what the caller may not see.
 */
export class AnsweredCalls {
  readonly #open = new Map<JsonRpcId, OpenRequest>()
  readonly #caller: Caller
  readonly #policy: UpstreamPolicy
  readonly #known: KnownNames

  constructor({ body, caller, calls }: Incoming, policy: UpstreamPolicy, known: KnownNames) {
    this.#caller = caller
    this.#policy = policy
    this.#known = known
    for (const message of Array.isArray(body) ? body : [body]) {
      if (!isJsonObject(message)) continue
      const { id, method } = message
      if ((typeof id !== 'string' && typeof id !== 'number') || typeof method !== 'string') continue
      const call = callOf(message)
      this.#open.set(id, { method, call, finish: call && calls.begin(call) })
    }
  }

  /** The ids of those that are open. */
  ids(): JsonRpcId[] {
    return [...this.#open.keys()]
  }

  /**
   * What goes on to the client of a message or batch of the upstream: the same text, unless something is taken out. Undefined for what
   * is not JSON.
   */
  pass(text: string): string | undefined {
    const value = parseJson(text)
    if (value === undefined) return undefined
    if (!Array.isArray(value)) return this.#passMessage(value, text)
    const texts = value.map((each: unknown) => {
      const whole = JSON.stringify(each)
      return this.#passMessage(each, whole)
    })
    return `[${texts.join(',')}]`
  }

  /** Ends all that are open. */
  end(outcome: CallOutcome): void {
    for (const { call, finish } of this.#open.values()) {
      finish?.({ outcome, isKnown: call !== undefined && this.#known.has(call) })
    }
    this.#open.clear()
  }

  #passMessage(value: unknown, text: string): string {
    if (!isJsonObject(value) || 'method' in value) return text
    const { id, result } = value
    const request = typeof id === 'string' || typeof id === 'number' ? this.#open.get(id) : undefined
    if (request) {
      this.#open.delete(id as JsonRpcId)
      this.#record(request, result, text)
    }
    if (!isJsonObject(result)) return text
    // A stream that is resumed has answers to requests of before.
    const isList = request ? request.method === 'tools/list' : Array.isArray(result['tools'])
    return isList ? this.#passList(value, result, text) : text
  }

  #record({ call, finish }: OpenRequest, result: unknown, text: string): void {
    if (!call) return
    if (isJsonObject(result)) this.#known.add(call)
    finish?.({
      outcome: isJsonObject(result) ? outcomeOf(result) : 'failed',
      isKnown: this.#known.has(call),
      responseBytes: Buffer.byteLength(text),
    })
  }

  #passList(message: JsonObject, result: JsonObject, text: string): string {
    const tools: unknown[] = Array.isArray(result['tools']) ? result['tools'] : []
    const saysNeeds = this.#policy.publicTools.size > 0
    const shown = tools.flatMap((tool) => {
      const name = isJsonObject(tool) ? tool['name'] : undefined
      if (typeof name !== 'string' || !isOffered(name, this.#caller, this.#policy)) return []
      this.#known.add({ event: 'tool_called', name })
      return saysNeeds ? [withSecuritySchemes(tool as JsonObject, needsOfTool(this.#policy, name))] : [tool]
    })
    // What one person may see is nothing for a cache of everybody's (MCP 2026-07-28, caching).
    const isPublic = result['cacheScope'] === 'public'
    if (shown.length === tools.length && !isPublic && !saysNeeds) return text
    const own = { ...result, tools: shown, ...(isPublic && { cacheScope: 'private' }) }
    return JSON.stringify({ ...message, result: own })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
