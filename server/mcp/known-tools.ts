import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { type HeaderParameter, readHeaderParameters } from '@drawbridge/shared/mcp/x-mcp-header.ts'
import type { Call } from '../core/access/call-record.ts'

/** Bounds memory when an upstream invents tool names. */
const maxNames = 10_000

/**
 * The names of the upstream's tools, from its lists. With `learnsFromCalls` also from successful calls, until the first list is
 * complete: after a restart, clients call by an earlier list. A failed call proves nothing, as many servers answer unknown names
 * with an error.
 */
export class KnownTools {
  readonly #names = new Set<string>()
  readonly #learnsFromCalls: boolean
  #hasBegun = false
  #isComplete = false

  constructor({ learnsFromCalls }: { learnsFromCalls: boolean }) {
    this.#learnsFromCalls = learnsFromCalls
  }

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
    if (this.#learnsFromCalls && call.event === 'tool_called' && !this.#isComplete) this.#add(call.name)
    // Some upstreams list different tools for each user: a tool missing from this list may exist.
    return this.has(call) || undefined
  }

  #add(name: string): void {
    if (this.#names.size < maxNames) this.#names.add(name)
  }
}

const maxPages = 64
/** How long a complete list without a name proves that there is no such tool. */
const listedForMs = 1000

/** The tools that a process has listed, with the arguments that clients repeat in headers. */
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

  /** Returns whether the tool exists, and lists the tools if necessary. Undefined when the process cannot list its tools. */
  async knows(name: string): Promise<boolean | undefined> {
    if (this.#tools.has(name)) return true
    if (this.#nowMs() - this.#listedAt < listedForMs) return false
    this.#listing ??= this.#listAll()
      .catch(() => false)
      .finally(() => (this.#listing = undefined))
    if (!(await this.#listing)) return undefined
    return this.#tools.has(name)
  }

  /** Makes the next unknown name list the tools again. */
  expire(): void {
    this.#listedAt = -Infinity
  }

  /** Adds the `tools` of a result. */
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

/** Returns the names of the tools in a list, whatever else it contains. */
export function namesOfTools(tools: readonly unknown[]): string[] {
  return tools.flatMap(nameOfTool)
}

/** Returns the name of a listed tool in an array; an empty one without. */
export function nameOfTool(tool: unknown): string[] {
  const name = isJsonObject(tool) ? tool['name'] : undefined
  return typeof name === 'string' ? [name] : []
}
