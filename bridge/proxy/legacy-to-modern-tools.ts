import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/json-rpc.ts'
import { CallError } from './call-error.ts'
import type { ModernUpstream } from './legacy-to-modern-upstream.ts'
import { readParameterHeaders } from './parameter-header.ts'
import type { ToolHeaders } from './parameter-header.ts'

/** What is remembered of the tools of a server, for the headers of their calls. */
export interface ToolMemory {
  /** Takes a result of `tools/list`; returns it without the tools that a client has to hide. Says once why. */
  learn(result: JsonObject): JsonObject
  /** Headers of a call, empty while the tool was in no list. Throws {@link CallError} for a tool that is hidden. */
  headersFor(toolName: unknown, args: unknown): Record<string, string>
  /** Lists all tools anew. Calls that come while it runs share it. Never rejects: what could not be read stays as it was. */
  refresh(): Promise<void>
}

/** Pages of one refresh. A cursor that leads in a circle must not keep us for ever. */
const mostPages = 64
/** Lists beyond this are forgotten: their calls are answered with -32020, and then listed again. */
const mostTools = 10_000

/** `warn` gets one line for each tool that is hidden. */
export function createToolMemory(upstream: ModernUpstream, warn: (text: string) => void): ToolMemory {
  const known = new Map<string, ToolHeaders>()
  const warned = new Set<string>()
  let running: Promise<void> | undefined

  function learn(result: JsonObject): JsonObject {
    const tools = Array.isArray(result['tools']) ? result['tools'].filter(isJsonObject) : []
    const headers = readParameterHeaders(tools)
    if (known.size + tools.length > mostTools) known.clear()
    for (const { name } of tools) if (typeof name === 'string') known.set(name, headers)
    for (const [name, fault] of headers.offending) complain(name, fault)
    if (headers.offending.size === 0) return result
    return {
      ...result,
      tools: tools.filter(({ name }) => typeof name !== 'string' || !headers.offending.has(name)),
    }
  }

  function complain(name: string, fault: string): void {
    const line = `The tool ${JSON.stringify(name)} is hidden: its parameters for headers are declared wrongly (${fault}).`
    if (warned.has(line) || warned.size >= mostTools) return
    warned.add(line)
    warn(line)
  }

  async function listAll(): Promise<void> {
    let cursor: unknown
    for (let page = 0; page < mostPages; page += 1) {
      const params = typeof cursor === 'string' ? { cursor } : {}
      const response = await upstream.ask('tools/list', params)
      if ('error' in response || !isJsonObject(response.result)) return
      learn(response.result)
      cursor = response.result['nextCursor']
      if (typeof cursor !== 'string') return
    }
  }

  return {
    learn,
    headersFor(toolName, args) {
      const headers = typeof toolName === 'string' ? known.get(toolName) : undefined
      if (typeof toolName !== 'string' || headers === undefined) return {}
      const fault = headers.offending.get(toolName)
      if (fault === undefined) return headers.headersFor(toolName, args)
      throw new CallError(
        jsonRpcCode.invalidParams,
        `The tool declares its header parameters wrongly: ${fault}`,
      )
    },
    refresh() {
      running ??= listAll()
        .catch(() => {})
        .finally(() => {
          running = undefined
        })
      return running
    },
  }
}
