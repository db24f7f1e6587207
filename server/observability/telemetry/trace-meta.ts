import { parseExactObject } from '@drawbridge/shared/exact-json.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { isClientMethod } from '@drawbridge/shared/mcp/methods.ts'
import { metaOf, paramsOf } from '@drawbridge/shared/mcp/params.ts'

/** The members of `_meta` that carry a W3C trace context (SEP-414), and the headers of the same names. */
export type TraceCarrier = Readonly<Record<string, string>>

/** The name of the spans of a message, and the attributes that name it. */
export interface McpOperation {
  name: string
  attributes: Readonly<Record<string, string>>
}

const maxNameLength = 200

/**
 * Names a message by the semantic conventions of OpenTelemetry for MCP: of its parameters, by the name of the tool or prompt alone. A
 * method that clients send in no revision is `_OTHER`.
 */
export function mcpOperation(given: string, called: unknown): McpOperation {
  // Clients may send any text, and each would become a metric series of its own.
  const method = isClientMethod(given) ? given : '_OTHER'
  const kind = { 'tools/call': 'tool', 'prompts/get': 'prompt' }[method]
  const attributes = { 'mcp.method.name': method }
  if (kind === undefined || typeof called !== 'string') return { name: method, attributes }
  const target = called.slice(0, maxNameLength)
  return {
    name: `${method} ${target}`,
    attributes: {
      ...attributes,
      [`gen_ai.${kind}.name`]: target,
      ...(kind === 'tool' && { 'gen_ai.operation.name': 'execute_tool' }),
    },
  }
}

/** Returns a copy of a request with `carrier` in its `_meta`. */
export function withTrace(message: JsonObject, carrier: TraceCarrier): JsonObject {
  const params = paramsOf(message)
  return { ...message, params: { ...params, _meta: { ...metaOf(params), ...carrier } } }
}

/**
 * {@link withTrace} for the JSON text of a request; numbers stay as they were written. Returns the text unchanged if it, its `params` or
 * its `_meta` is not an object.
 */
export function withTraceText(text: string, carrier: TraceCarrier): string {
  const message = parseExactObject(text)
  const { params = {} } = message ?? {}
  const meta = isJsonObject(params) ? (params['_meta'] ?? {}) : undefined
  return message && isJsonObject(meta) ? JSON.stringify(withTrace(message, carrier)) : text
}
