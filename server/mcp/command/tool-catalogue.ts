import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { readHeaderParameters } from '@drawbridge/shared/mcp/x-mcp-header.ts'

const maxPages = 64
const maxNames = 10_000
/** How long a complete list without a name proves that there is no such tool. */
const listedForMs = 1000

/** One page of `tools/list`. Rejects when there is none. */
export type ListTools = (cursor: string | undefined) => Promise<unknown>

/** The names of the tools that a process has, as far as it has listed them. */
export class ToolCatalogue {
  readonly #list: ListTools
  readonly #nowMs: () => number
  readonly #names = new Set<string>()
  readonly #headerSchemas = new Map<string, JsonObject>()
  #listedAt = -Infinity
  #listing: Promise<boolean> | undefined

  constructor(list: ListTools, nowMs: () => number) {
    this.#list = list
    this.#nowMs = nowMs
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** The input schema of a tool some of whose arguments are repeated in headers; undefined for any other. */
  headerSchemaOf(name: string): JsonObject | undefined {
    return this.#headerSchemas.get(name)
  }

  /** Takes the `tools` of a result. */
  learn(tools: readonly unknown[]): void {
    for (const tool of tools) if (isJsonObject(tool)) this.#learn(tool)
  }

  /** Whether there is such a tool; asks the process when it is not known. Undefined when the process cannot list its tools. */
  async knows(name: string): Promise<boolean | undefined> {
    if (this.has(name)) return true
    if (this.#nowMs() - this.#listedAt < listedForMs) return false
    this.#listing ??= this.#listAll().finally(() => (this.#listing = undefined))
    if (!(await this.#listing)) return undefined
    return this.has(name)
  }

  /** The list has changed. */
  expire(): void {
    this.#listedAt = -Infinity
  }

  #learn({ name, inputSchema }: JsonObject): void {
    if (typeof name !== 'string' || (this.#names.size >= maxNames && !this.has(name))) return
    this.#names.add(name)
    if (!isJsonObject(inputSchema)) return
    const headers = readHeaderParameters(inputSchema)
    if (headers.kind !== 'faulty' && headers.parameters.length > 0) this.#headerSchemas.set(name, inputSchema)
    else this.#headerSchemas.delete(name)
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
