import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'

/**
 * A result of a 2026-07-28 server for a client of the 2025 era. `resultType` goes: the v1 SDK refuses an empty result with
 * any member beside `_meta`. `ttlMs`, `cacheScope` and what is in `_meta` stay: results with content are open to more members
 * in every revision. Structured output that is no object goes, with its text in its place, for the v1 SDK refuses it too.
 */
export function toLegacyResult(method: string, result: JsonObject): JsonObject {
  const { resultType: _, ...rest } = result
  if (method === 'tools/list') return withLegacyTools(rest)
  return method === 'tools/call' ? withLegacyOutput(rest) : rest
}

/** One tool with an output schema of another type than object makes v1 clients refuse the whole list. */
function withLegacyTools(result: JsonObject): JsonObject {
  const { tools } = result
  if (!Array.isArray(tools)) return result
  return { ...result, tools: tools.map((tool) => (isJsonObject(tool) ? withObjectOutput(tool) : tool)) }
}

function withObjectOutput(tool: JsonObject): JsonObject {
  const { outputSchema, ...rest } = tool
  const fits = outputSchema === undefined || (isJsonObject(outputSchema) && outputSchema['type'] === 'object')
  return fits ? tool : rest
}

function withLegacyOutput(result: JsonObject): JsonObject {
  const { structuredContent, ...rest } = result
  if (structuredContent === undefined || isJsonObject(structuredContent)) return result
  const content: unknown[] = Array.isArray(rest['content']) ? rest['content'] : []
  if (content.some((block) => isJsonObject(block) && block['type'] === 'text')) return rest
  return { ...rest, content: [...content, { type: 'text', text: JSON.stringify(structuredContent) }] }
}
