import { isJsonObject, type JsonObject } from '../../../json-object.ts'
import { mcpMetaKey, modernRevision } from '../../mcp-protocol.ts'
import { mapServerCapabilities } from '../capabilities.ts'
import { metaOf } from '../../params.ts'

/** A 2025 server does not say how long a result may be cached, or for whom. */
const uncached = { ttlMs: 0, cacheScope: 'private' } as const
const cacheable: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

/**
 * A result of a 2025 server for a 2026-07-28 client: with `resultType`, `serverInfo` in `_meta`, and the caching members that
 * the revision requires. Tools lose `execution`; those that only run as tasks are left out and reported to `onHiddenTool`.
 */
export function toResult2026(
  method: string,
  result: JsonObject,
  serverInfo: unknown,
  onHiddenTool: (toolName: unknown) => void,
): JsonObject {
  const tools = method === 'tools/list' ? result['tools'] : undefined
  return {
    ...result,
    ...(Array.isArray(tools) && { tools: withoutTasks(tools, onHiddenTool) }),
    resultType: 'complete',
    ...(cacheable.has(method) && uncached),
    _meta: withServerInfo(metaOf(result), serverInfo),
  }
}

/** The result of `server/discover`, made from that of `initialize`. */
export function toDiscoverResult(initialized: JsonObject): JsonObject {
  const { capabilities, instructions, serverInfo } = initialized
  return {
    resultType: 'complete',
    supportedVersions: [modernRevision],
    capabilities: mapServerCapabilities(capabilities),
    ...(typeof instructions === 'string' && { instructions }),
    ...uncached,
    _meta: withServerInfo({}, serverInfo),
  }
}

/** `_meta` of a result, in which the server identifies itself. */
export function withServerInfo(meta: JsonObject, serverInfo: unknown): JsonObject {
  return isJsonObject(serverInfo) ? { ...meta, [mcpMetaKey.serverInfo]: serverInfo } : meta
}

function withoutTasks(tools: readonly unknown[], onHiddenTool: (toolName: unknown) => void): unknown[] {
  return tools.flatMap((tool) => {
    if (!isJsonObject(tool)) return [tool]
    const { execution, ...rest } = tool
    if (!isJsonObject(execution) || execution['taskSupport'] !== 'required') return [rest]
    onHiddenTool(rest['name'])
    return []
  })
}
