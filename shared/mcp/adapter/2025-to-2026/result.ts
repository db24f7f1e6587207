import { isJsonObject } from '../../../json-object.ts'
import type { JsonObject } from '../../../json-object.ts'
import type { legacyRevisions } from '../../mcp-protocol.ts'

/** A revision of the 2025 era. */
export type LegacyRevision = (typeof legacyRevisions)[number]

/** The kinds of content that are younger than the oldest revision, by the first revision that has them. */
const youngContent: ReadonlyMap<unknown, LegacyRevision> = new Map<unknown, LegacyRevision>([
  ['audio', '2025-03-26'],
  ['resource_link', '2025-06-18'],
])

/**
 * A result of a 2026-07-28 server for a client of the 2025 era. `resultType` goes: the v1 SDK refuses an empty result with
 * any member beside `_meta`. `ttlMs`, `cacheScope` and what is in `_meta` stay: results with content are open to more members
 * in every revision. Structured output that is no object goes, with its text in its place, for the v1 SDK refuses it too.
 * Content that is younger than the revision becomes text: the server is never told the revision.
 */
export function toLegacyResult(method: string, result: JsonObject, revision: LegacyRevision): JsonObject {
  const { resultType: _, ...rest } = result
  if (method === 'tools/list') return withLegacyTools(rest)
  if (method === 'prompts/get') return withLegacyMessages(rest, revision)
  return method === 'tools/call' ? withLegacyContent(withLegacyOutput(rest), revision) : rest
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

function withLegacyContent(result: JsonObject, revision: LegacyRevision): JsonObject {
  const { content } = result
  if (!Array.isArray(content)) return result
  return { ...result, content: content.map((block) => toLegacyBlock(block, revision)) }
}

function withLegacyMessages(result: JsonObject, revision: LegacyRevision): JsonObject {
  const { messages } = result
  if (!Array.isArray(messages)) return result
  const mapped = messages.map((message) =>
    isJsonObject(message) ? withContent(message, toLegacyBlock(message['content'], revision)) : message,
  )
  return { ...result, messages: mapped }
}

function withContent(message: JsonObject, content: unknown): JsonObject {
  return { ...message, content }
}

function toLegacyBlock(block: unknown, revision: LegacyRevision): unknown {
  const since = isJsonObject(block) ? youngContent.get(block['type']) : undefined
  if (!isJsonObject(block) || since === undefined || revision >= since) return block
  const { title, name, uri, mimeType } = block
  const kind = typeof mimeType === 'string' ? mimeType : 'content'
  const label = [title, name].find((each) => typeof each === 'string') ?? kind
  return { type: 'text', text: typeof uri === 'string' ? `${label}: ${uri}` : `[${kind}]` }
}
