import { parseExactObject } from '@drawbridge/shared/exact-json.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { type JsonRpcRequest, type WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { encodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import {
  type HeaderParameter,
  headerParameterText,
  readHeaderParameters,
} from '@drawbridge/shared/mcp/x-mcp-header.ts'

/** Earlier pages of a longer list are forgotten, and read again when the server reports a missing header. */
const maxListLength = 32 * 1024 * 1024
/** No more warnings after this many. */
const maxWarnings = 1000

/**
 * The `Mcp-Param-*` headers that the tools of a 2026-07-28 server declare, and the tools to hide because their declaration is faulty
 * (MCP 2026-07-28 transports). Of two tools with one name, the later counts.
 */
export class ToolHeaders {
  readonly #ports: { knownTools(): readonly JsonObject[]; warn(text: string): void }
  readonly #parameters = new Map<unknown, readonly HeaderParameter[]>()
  readonly #warned = new Set<string>()
  #isKnown = false
  #length = 0

  /** `knownTools` come from an earlier connection. Calls `warn` once for each hidden tool. */
  constructor(ports: { knownTools(): readonly JsonObject[]; warn(text: string): void }) {
    this.#ports = ports
  }

  /** Returns the headers that repeat arguments of a `tools/call`. Does not check their types: the server does. */
  headersFor({ params }: JsonRpcRequest): Record<string, string> {
    if (!this.#isKnown) this.#learn(this.#ports.knownTools())
    const headers: Record<string, string> = {}
    for (const parameter of this.#parameters.get(params?.['name']) ?? []) {
      const text = headerParameterText(params?.['arguments'], parameter)
      if (text !== undefined) headers[parameter.header] = encodeMcpHeaderValue(text)
    }
    return headers
  }

  /** Reads a page of `tools/list`. Returns it without the tools to hide. */
  readPage(request: JsonRpcRequest, answer: WireMessage): WireMessage {
    const page = toolPage(answer)
    if (page === undefined) return answer
    const { length } = answer.text
    const isFirst = request.params?.['cursor'] === undefined
    if (isFirst || this.#length + length > maxListLength) {
      this.#parameters.clear()
      this.#length = 0
    }
    this.#length += length
    const faults = this.#learn(page.tools.filter(isJsonObject))
    if (faults.size === 0) return answer
    for (const [name, fault] of faults) this.#warn(name, fault)
    return page.filtered((tool) => !isJsonObject(tool) || !faults.has(String(tool['name'])))
  }

  /** Returns the faults of faulty tools, by name. */
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

/** Reads a page of `tools/list`; undefined for any other answer. `filtered` returns the answer with the tools to keep. */
export function toolPage(answer: WireMessage) {
  const body = parseExactObject(answer.text)
  const result = body?.['result']
  const tools: unknown = isJsonObject(result) ? result['tools'] : undefined
  if (!isJsonObject(result) || !Array.isArray(tools)) return undefined
  const filtered = (isKept: (tool: unknown) => boolean): WireMessage => {
    const kept = { ...body, result: { ...result, tools: tools.filter((tool) => isKept(tool)) } }
    return { text: JSON.stringify(kept), envelope: answer.envelope }
  }
  return { tools: tools as readonly unknown[], filtered }
}
