import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Call } from '../core/access/call-record.ts'
import { isAllowed } from '../core/access/glob.ts'
import { scopeOfTool, type UpstreamPolicy } from '../core/gateway/upstream.ts'

/** Bounds memory when an upstream invents tool names. */
export const maxToolNames = 10_000

/**
 * The upstream's tools, from its lists, and until the first list is complete also from successful calls: after a restart,
 * clients call by an earlier list. A failed call proves nothing, as many servers answer unknown names with an error.
 */
export class KnownTools {
  readonly policy: UpstreamPolicy
  /** Whether the latest list marks a tool as read-only, by name; undefined for a tool that was called and never listed. */
  readonly #marks = new Map<string, boolean | undefined>()
  #hasBegun = false
  #isComplete = false

  constructor(policy: UpstreamPolicy) {
    this.policy = policy
  }

  /** Returns whether the tool exists; undefined while unknown. True for resources and prompts, as lists need not have them all. */
  has({ event, name }: Call): boolean | undefined {
    if (event !== 'tool_called' || this.#marks.has(name)) return true
    return this.#isComplete ? false : undefined
  }

  /** Returns the scope that a call needs. None for a tool that is hidden from everyone: no call reaches it. */
  scopeOf(name: string): string | undefined {
    if (!isAllowed(this.policy, name)) return undefined
    return scopeOfTool(this.policy, { name, isReadOnly: this.#marks.get(name) })
  }

  /** Returns the scope that a call needs, or not: that depends on a mark which no list has told yet. */
  scopeInDoubt(name: string): string | undefined {
    if (this.#marks.get(name) !== undefined) return undefined
    const scope = this.scopeOf(name)
    return scopeOfTool(this.policy, { name, isReadOnly: true }) === scope ? undefined : scope
  }

  /** Adds the tools on a page of the list, which is complete after the last page if it was read from the first. */
  list(tools: readonly unknown[], page: { isFirst: boolean; isLast: boolean }): void {
    for (const tool of tools) for (const name of nameOfTool(tool)) this.#add(name, isReadOnly(tool))
    this.#hasBegun ||= page.isFirst
    this.#isComplete ||= page.isLast && this.#hasBegun
  }

  /** Learns from a successful call. Returns whether its tool is known. */
  succeeded(call: Call): boolean | undefined {
    if (call.event === 'tool_called' && !this.#isComplete) this.#add(call.name, this.#marks.get(call.name))
    // Some upstreams list different tools for each user: a tool missing from this list may exist.
    return this.has(call) || undefined
  }

  #add(name: string, mark: boolean | undefined): void {
    if (this.#marks.size < maxToolNames || this.#marks.has(name)) this.#marks.set(name, mark)
  }
}

/** Returns whether a listed tool is marked as one that changes nothing. */
export function isReadOnly(tool: unknown): boolean {
  const annotations = isJsonObject(tool) ? tool['annotations'] : undefined
  return isJsonObject(annotations) && annotations['readOnlyHint'] === true
}

/** Returns the name of a listed tool in an array; an empty one without. */
export function nameOfTool(tool: unknown): string[] {
  const name = isJsonObject(tool) ? tool['name'] : undefined
  return typeof name === 'string' ? [name] : []
}
