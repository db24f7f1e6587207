import { isJsonObject, parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { type JsonRpcRequest, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { encodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import {
  type HeaderParameter,
  headerParameterText,
  readHeaderParameters,
} from '@drawbridge/shared/mcp/x-mcp-header.ts'

/** The earlier pages of a longer list are forgotten. They are read again when the server misses a header. */
const maxListLength = 32 * 1024 * 1024
/** So many warnings are enough. */
const maxWarnings = 1000

/** The tools of a 2026-07-28 server, as far as their `Mcp-Param-*` headers are concerned (MCP 2026-07-28 transports). */
export class ToolList {
  readonly #ports: { knownTools(): readonly JsonObject[]; warn(text: string): void }
  #tools: readonly JsonObject[] = []
  #length = 0
  #headers: ToolHeaders | undefined
  readonly #warned = new Set<string>()

  /** `knownTools` are those of an earlier connection. `warn` is called once for each hidden tool. */
  constructor(ports: { knownTools(): readonly JsonObject[]; warn(text: string): void }) {
    this.#ports = ports
  }

  /** The headers that a `tools/call` has to repeat its arguments in. */
  headersFor(call: JsonRpcRequest): Record<string, string> {
    const name = call.params?.['name']
    return typeof name === 'string' ? this.#current().headersFor(name, call.params?.['arguments']) : {}
  }

  /** Reads a page of `tools/list`. Returns it without the tools whose headers are faulty, which a client has to hide. */
  readPage(request: JsonRpcRequest, answer: WireMessage): WireMessage {
    const body = parseJsonObject(answer.text)
    const result = body?.['result']
    const page: unknown = isJsonObject(result) ? result['tools'] : undefined
    if (body === undefined || !isJsonObject(result) || !Array.isArray(page)) return answer
    const listed = page.filter(isJsonObject)
    const { offending } = this.#add(listed, answer.text.length, request.params?.['cursor'] === undefined)
    const isOffending = (tool: unknown): boolean => isJsonObject(tool) && offending.has(String(tool['name']))
    if (!page.some(isOffending)) return answer
    for (const tool of listed) if (isOffending(tool)) this.#warn(String(tool['name']), offending)
    const kept = { ...body, result: { ...result, tools: page.filter((tool) => !isOffending(tool)) } }
    return { text: JSON.stringify(kept), envelope: answer.envelope }
  }

  #current(): ToolHeaders {
    return (this.#headers ??= new ToolHeaders((this.#tools = this.#ports.knownTools())))
  }

  #add(page: readonly JsonObject[], length: number, isFirst: boolean): ToolHeaders {
    const isAlone = isFirst || this.#length + length > maxListLength
    this.#length = isAlone ? length : this.#length + length
    this.#tools = isAlone ? page : [...this.#tools, ...page]
    return (this.#headers = new ToolHeaders(this.#tools))
  }

  #warn(name: string, offending: ReadonlyMap<string, string>): void {
    if (this.#warned.has(name) || this.#warned.size >= maxWarnings) return
    this.#warned.add(name)
    this.#ports.warn(
      `The tool ${JSON.stringify(name)} is hidden, its x-mcp-header is faulty: ${offending.get(name)}.`,
    )
  }
}

/** The `Mcp-Param-*` headers that a list of tools declares. Of two tools with one name the later counts. */
export class ToolHeaders {
  /** Tools with a faulty `x-mcp-header` by name, with what is wrong. A client has to hide them (MCP 2026-07-28 transports). */
  readonly offending: Map<string, string> = new Map()
  readonly #parameters = new Map<string, readonly HeaderParameter[]>()

  constructor(tools: readonly JsonObject[]) {
    for (const { name, inputSchema } of tools) {
      if (typeof name !== 'string') continue
      const read = readHeaderParameters(inputSchema)
      this.offending.delete(name)
      this.#parameters.delete(name)
      if (read.kind === 'faulty') this.offending.set(name, read.fault)
      else if (read.parameters.length > 0) this.#parameters.set(name, read.parameters)
    }
  }

  /**
   * Returns the headers of a call by whole name, encoded. Arguments that are absent, null or fit no header bring none. Empty for a
   * tool that is not in the list. Does not check that an argument has the declared type: the server will.
   */
  headersFor(toolName: string, args: unknown): Record<string, string> {
    const headers: Record<string, string> = {}
    for (const parameter of this.#parameters.get(toolName) ?? []) {
      const text = headerParameterText(args, parameter)
      if (text !== undefined) headers[parameter.header] = encodeMcpHeaderValue(text)
    }
    return headers
  }
}
