import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { encodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import {
  type HeaderParameter,
  headerParameterText,
  readHeaderParameters,
} from '@drawbridge/shared/mcp/x-mcp-header.ts'

/** What a list of tools says about `Mcp-Param-*` headers. */
export interface ToolHeaders {
  /** Tools with a faulty `x-mcp-header` by name, with what is wrong. A client has to hide them (MCP 2026-07-28 transports). */
  offending: ReadonlyMap<string, string>
  /** Whether any call has headers: otherwise none has to be parsed. */
  hasParameters: boolean
  /**
   * Headers of a call by whole name, encoded. Arguments that are absent, null or fit no header bring none. Empty for a tool
   * that is not in the list. Whether an argument has the declared type is not checked: the server will.
   */
  headersFor(toolName: string, args: unknown): Record<string, string>
}

/** Reads the `x-mcp-header` markers of tools as `tools/list` has them. Of two tools with one name the later counts. */
export function readParameterHeaders(tools: readonly JsonObject[]): ToolHeaders {
  const offending = new Map<string, string>()
  const parameters = new Map<string, readonly HeaderParameter[]>()
  for (const { name, inputSchema } of tools) {
    if (typeof name !== 'string') continue
    const read = readHeaderParameters(inputSchema)
    offending.delete(name)
    parameters.delete(name)
    if (read.kind === 'faulty') offending.set(name, read.fault)
    else if (read.parameters.length > 0) parameters.set(name, read.parameters)
  }
  return {
    offending,
    hasParameters: parameters.size > 0,
    headersFor(toolName, args) {
      const headers: Record<string, string> = {}
      for (const parameter of parameters.get(toolName) ?? []) {
        const text = headerParameterText(args, parameter)
        if (text !== undefined) headers[parameter.header] = encodeMcpHeaderValue(text)
      }
      return headers
    },
  }
}
