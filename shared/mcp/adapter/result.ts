import { isJsonObject, type JsonObject } from '../../json-object.ts'
import type { legacyRevisions } from '../mcp-protocol.ts'

/** A revision that opens with `initialize`. */
export type Revision2025 = (typeof legacyRevisions)[number]

/** Kinds of content that the oldest revision lacks, each with the first revision that has it. */
const laterContent: ReadonlyMap<unknown, Revision2025> = new Map<unknown, Revision2025>([
  ['audio', '2025-03-26'],
  ['resource_link', '2025-06-18'],
])

/**
 * A result of a 2026-07-28 server for a 2025 client:
 * - without `resultType`, because the v1 SDK refuses an empty result with any member but `_meta`. `ttlMs`, `cacheScope` and
 *   `_meta` stay: every revision allows more members in results with content.
 * - structured output that is not an object becomes text, because the v1 SDK refuses it;
 * - content of a kind that the client's revision lacks becomes text.
 */
export function toResult2025(method: string, result: JsonObject, revision: Revision2025): JsonObject {
  const { resultType: _, ...rest } = result
  if (method === 'tools/list') return withTools2025(rest)
  if (method === 'prompts/get') return withMessages2025(rest, revision)
  return method === 'tools/call' ? withContent2025(withOutput2025(rest), revision) : rest
}

/** One tool with an output schema that is not for objects makes v1 clients refuse the whole list. */
function withTools2025(result: JsonObject): JsonObject {
  const { tools } = result
  if (!Array.isArray(tools)) return result
  return { ...result, tools: tools.map((tool) => (isJsonObject(tool) ? withObjectOutput(tool) : tool)) }
}

function withObjectOutput(tool: JsonObject): JsonObject {
  const { outputSchema, ...rest } = tool
  const fits = outputSchema === undefined || (isJsonObject(outputSchema) && outputSchema['type'] === 'object')
  return fits ? tool : rest
}

function withOutput2025(result: JsonObject): JsonObject {
  const { structuredContent, ...rest } = result
  if (structuredContent === undefined || isJsonObject(structuredContent)) return result
  const content: unknown[] = Array.isArray(rest['content']) ? rest['content'] : []
  if (content.some((block) => isJsonObject(block) && block['type'] === 'text')) return rest
  return { ...rest, content: [...content, { type: 'text', text: JSON.stringify(structuredContent) }] }
}

function withContent2025(result: JsonObject, revision: Revision2025): JsonObject {
  const { content } = result
  if (!Array.isArray(content)) return result
  return { ...result, content: content.map((block) => toBlock2025(block, revision)) }
}

function withMessages2025(result: JsonObject, revision: Revision2025): JsonObject {
  const { messages } = result
  if (!Array.isArray(messages)) return result
  const mapped = messages.map((message) =>
    isJsonObject(message) ? withContent(message, toBlock2025(message['content'], revision)) : message,
  )
  return { ...result, messages: mapped }
}

function withContent(message: JsonObject, content: unknown): JsonObject {
  return { ...message, content }
}

function toBlock2025(block: unknown, revision: Revision2025): unknown {
  const since = isJsonObject(block) ? laterContent.get(block['type']) : undefined
  if (!isJsonObject(block) || since === undefined || revision >= since) return block
  const { title, name, uri, mimeType } = block
  const kind = typeof mimeType === 'string' ? mimeType : 'content'
  const label = [title, name].find((each) => typeof each === 'string') ?? kind
  return { type: 'text', text: typeof uri === 'string' ? `${label}: ${uri}` : `[${kind}]` }
}
