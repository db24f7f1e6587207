import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { type HeaderParameter, readHeaderParameters } from '@drawbridge/shared/mcp/x-mcp-header.ts'

const maxPages = 64
const maxNames = 10_000
/** A complete list without a name proves for this long that there is no such tool. */
const listedForMs = 1000

/** One page of `tools/list`. Rejects when there is none. */
export type ListTools = (cursor: string | undefined) => Promise<unknown>

/** The tools that one process has, as far as it has listed them, with the arguments that headers repeat. */
export class ToolCatalogue {
  readonly #list: ListTools
  readonly #nowMs: () => number
  readonly #tools = new Map<string, readonly HeaderParameter[]>()
  #listedAt = -Infinity
  #listing: Promise<boolean> | undefined

  constructor(list: ListTools, nowMs: () => number) {
    this.#list = list
    this.#nowMs = nowMs
  }

  /** The arguments of a tool that are repeated in headers. */
  headerParametersOf(name: string): readonly HeaderParameter[] {
    return this.#tools.get(name) ?? []
  }

  /** Takes the `tools` of a result. */
  learn(tools: readonly unknown[]): void {
    for (const tool of tools) if (isJsonObject(tool)) this.#learn(tool)
  }

  /** Returns whether the tool exists, from the process's list if necessary. Undefined when the process cannot list its tools. */
  async knows(name: string): Promise<boolean | undefined> {
    if (this.#tools.has(name)) return true
    if (this.#nowMs() - this.#listedAt < listedForMs) return false
    this.#listing ??= this.#listAll().finally(() => (this.#listing = undefined))
    if (!(await this.#listing)) return undefined
    return this.#tools.has(name)
  }

  /** The list has changed. */
  expire(): void {
    this.#listedAt = -Infinity
  }

  #learn({ name, inputSchema }: JsonObject): void {
    if (typeof name !== 'string' || (this.#tools.size >= maxNames && !this.#tools.has(name))) return
    const headers = isJsonObject(inputSchema) ? readHeaderParameters(inputSchema) : undefined
    this.#tools.set(name, headers && headers.kind !== 'faulty' ? headers.parameters : [])
  }

  async #listAll(): Promise<boolean> {
    const begunAt = this.#nowMs()
    let cursor: string | undefined
    try {
      for (let page = 0; page < maxPages; page += 1) {
        const result = await this.#list(cursor)
        if (!isJsonObject(result) || !Array.isArray(result['tools'])) return false
        this.learn(result['tools'])
        const { nextCursor } = result
        if (typeof nextCursor !== 'string') {
          this.#listedAt = begunAt
          return true
        }
        cursor = nextCursor
      }
    } catch {
      return false
    }
    return false
  }
}
