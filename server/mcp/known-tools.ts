import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Call } from '../core/access/call-record.ts'

/** Bounds memory when an upstream invents tool names. */
export const maxToolNames = 10_000

/**
 * The names of the upstream's tools, from its lists, and until the first list is complete also from successful calls: after a restart,
 * clients call by an earlier list. A failed call proves nothing, as many servers answer unknown names with an error.
 */
export class KnownTools {
  readonly #names = new Set<string>()
  #hasBegun = false
  #isComplete = false

  /** Returns whether the tool exists; undefined while unknown. True for resources and prompts, as lists need not have them all. */
  has({ event, name }: Call): boolean | undefined {
    if (event !== 'tool_called' || this.#names.has(name)) return true
    return this.#isComplete ? false : undefined
  }

  /** Adds the names on a page of the list, which is complete after the last page if it was read from the first. */
  list(names: readonly string[], page: { isFirst: boolean; isLast: boolean }): void {
    for (const name of names) this.#add(name)
    this.#hasBegun ||= page.isFirst
    this.#isComplete ||= page.isLast && this.#hasBegun
  }

  /** Learns from a successful call. Returns whether its tool is known. */
  succeeded(call: Call): boolean | undefined {
    if (call.event === 'tool_called' && !this.#isComplete) this.#add(call.name)
    // Some upstreams list different tools for each user: a tool missing from this list may exist.
    return this.has(call) || undefined
  }

  #add(name: string): void {
    if (this.#names.size < maxToolNames) this.#names.add(name)
  }
}

/** Returns the names of the tools in a list, whatever else it contains. */
export function namesOfTools(tools: readonly unknown[]): string[] {
  return tools.flatMap(nameOfTool)
}

/** Returns the name of a listed tool in an array; an empty one without. */
export function nameOfTool(tool: unknown): string[] {
  const name = isJsonObject(tool) ? tool['name'] : undefined
  return typeof name === 'string' ? [name] : []
}
