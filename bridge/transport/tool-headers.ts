import { parseExactObject } from '@drawbridge/shared/exact-json.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
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

/**
 * The `Mcp-Param-*` headers that the tools of a 2026-07-28 server declare, and the tools that a client has to hide because
 * they do so faultily (MCP 2026-07-28 transports). Of two tools with one name the later counts.
 */
export class ToolHeaders {
  readonly #ports: { knownTools(): readonly JsonObject[]; warn(text: string): void }
  readonly #parameters = new Map<unknown, readonly HeaderParameter[]>()
  readonly #warned = new Set<string>()
  #isKnown = false
  #length = 0

  /** `knownTools` are those of an earlier connection. `warn` is called once for each hidden tool. */
  constructor(ports: { knownTools(): readonly JsonObject[]; warn(text: string): void }) {
    this.#ports = ports
  }

  /** The headers that a `tools/call` has to repeat its arguments in. Does not check their types: the server will. */
  headersFor({ params }: JsonRpcRequest): Record<string, string> {
    if (!this.#isKnown) this.#learn(this.#ports.knownTools())
    const headers: Record<string, string> = {}
    for (const parameter of this.#parameters.get(params?.['name']) ?? []) {
      const text = headerParameterText(params?.['arguments'], parameter)
      if (text !== undefined) headers[parameter.header] = encodeMcpHeaderValue(text)
    }
    return headers
  }

  /** Reads a page of `tools/list`. Returns it without the tools that a client has to hide. */
  readPage(request: JsonRpcRequest, answer: WireMessage): WireMessage {
    const body = parseExactObject(answer.text)
    const result = body?.['result']
    const page: unknown = isJsonObject(result) ? result['tools'] : undefined
    if (body === undefined || !isJsonObject(result) || !Array.isArray(page)) return answer
    const { length } = answer.text
    const isFirst = request.params?.['cursor'] === undefined
    if (isFirst || this.#length + length > maxListLength) {
      this.#parameters.clear()
      this.#length = 0
    }
    this.#length += length
    const faults = this.#learn(page.filter(isJsonObject))
    if (faults.size === 0) return answer
    for (const [name, fault] of faults) this.#warn(name, fault)
    const tools = page.filter((tool) => !isJsonObject(tool) || !faults.has(String(tool['name'])))
    return { text: JSON.stringify({ ...body, result: { ...result, tools } }), envelope: answer.envelope }
  }

  /** Returns what is wrong with the faulty ones, by name. */
  #learn(tools: readonly JsonObject[]): Map<string, string> {
    this.#isKnown = true
    const faults = new Map<string, string>()
    for (const { name, inputSchema } of tools) {
      if (typeof name !== 'string') continue
      const read = readHeaderParameters(inputSchema)
      faults.delete(name)
      this.#parameters.delete(name)
      if (read.kind === 'faulty') faults.set(name, read.fault)
      else if (read.parameters.length > 0) this.#parameters.set(name, read.parameters)
    }
    return faults
  }

  #warn(name: string, fault: string): void {
    if (this.#warned.has(name) || this.#warned.size >= maxWarnings) return
    this.#warned.add(name)
    this.#ports.warn(`The tool ${JSON.stringify(name)} is hidden, its x-mcp-header is faulty: ${fault}.`)
  }
}
