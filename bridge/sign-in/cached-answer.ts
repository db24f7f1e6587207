import {
  type WireMessage,
  parseWireMessage,
  toWireMessage,
  type JsonRpcMessage,
  type JsonRpcRequest,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  legacyRevisions,
  mcpMetaKey,
  modernRevision,
  type McpEra,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { ServerMemory } from '../transport/server-memory.ts'
import { inEra } from './authorization-prompt.ts'

/**
 * Answers the first request before the server is reached: from the memory of either revision, or else with tools alone.
 * Capabilities that are left out here cannot be announced later.
 */
export function cachedOpening(
  message: WireMessage,
  memory: ServerMemory | undefined,
  version: string,
): WireMessage {
  const request = parseWireMessage(message) as JsonRpcRequest
  const result =
    request.method === 'initialize'
      ? cachedInitializeResult(request, memory, version)
      : cachedDiscoverResult(memory, version)
  return answerTo(request, result)
}

/** The capabilities that {@link cachedOpening} announces in that revision. */
function announcedCapabilities(era: McpEra, memory: ServerMemory | undefined): JsonObject {
  const own = era === 'legacy' ? memory?.initializeResult : memory?.discoverResult
  const known = own ?? memory?.initializeResult ?? memory?.discoverResult
  return withToolNotices(known, known === own)
}

/** Returns an empty result for a list that {@link cachedOpening} does not announce; undefined for any other request. */
export function emptyList(
  method: string,
  era: McpEra,
  memory: ServerMemory | undefined,
): JsonObject | undefined {
  const list = lists.get(method)
  if (list === undefined || list.capability in announcedCapabilities(era, memory)) return undefined
  return inEra({ [list.member]: [] }, era, true)
}

/** Lists that clients request even if they are not announced. */
const lists: ReadonlyMap<string, { capability: string; member: string }> = new Map([
  ['resources/list', { capability: 'resources', member: 'resources' }],
  ['resources/templates/list', { capability: 'resources', member: 'resourceTemplates' }],
  ['prompts/list', { capability: 'prompts', member: 'prompts' }],
])

function cachedInitializeResult(
  { params }: JsonRpcRequest,
  memory: ServerMemory | undefined,
  version: string,
): JsonObject {
  const asked = params?.['protocolVersion']
  const isKnown = (legacyRevisions as readonly unknown[]).includes(asked)
  const known = memory?.initializeResult ?? memory?.discoverResult
  return {
    protocolVersion: isKnown ? asked : legacyRevisions[0],
    capabilities: announcedCapabilities('legacy', memory),
    serverInfo: serverInfoOf(known, version),
    ...instructionsOf(known),
  }
}

function cachedDiscoverResult(memory: ServerMemory | undefined, version: string): JsonObject {
  const known = memory?.discoverResult ?? memory?.initializeResult
  return {
    resultType: 'complete',
    supportedVersions: [modernRevision],
    capabilities: announcedCapabilities('modern', memory),
    ...instructionsOf(known),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [mcpMetaKey.serverInfo]: serverInfoOf(known, version) },
  }
}

/** A sign-in changes the list of tools, whatever the server announces. Tasks do not exist in both revisions. */
function withToolNotices(known: JsonObject | undefined, isSameEra: boolean): JsonObject {
  const capabilities = isJsonObject(known?.['capabilities']) ? known['capabilities'] : {}
  const tools = isJsonObject(capabilities['tools']) ? capabilities['tools'] : {}
  const { tasks, ...passable } = capabilities
  return {
    ...passable,
    ...(isSameEra && tasks !== undefined ? { tasks } : {}),
    tools: { ...tools, listChanged: true },
  }
}

function serverInfoOf(known: JsonObject | undefined, version: string): unknown {
  const meta = known?.['_meta']
  const inMeta = isJsonObject(meta) ? meta[mcpMetaKey.serverInfo] : undefined
  return known?.['serverInfo'] ?? inMeta ?? { name: 'drawbridge', version }
}

function instructionsOf(known: JsonObject | undefined): JsonObject {
  const instructions = known?.['instructions']
  return typeof instructions === 'string' ? { instructions } : {}
}

/** The server's remembered answer to a first request. */
export function knownOpening(memory: ServerMemory | undefined): JsonObject | undefined {
  return memory?.initializeResult ?? memory?.discoverResult
}

/** Makes a response in place of the server. */
export function answerTo({ id }: Pick<JsonRpcRequest, 'id'>, result: JsonObject): WireMessage {
  return { ...toWireMessage({ jsonrpc: '2.0', id, result } satisfies JsonRpcMessage), isStandIn: true }
}
