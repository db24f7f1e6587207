import { isJsonObject, type JsonObject } from '../json-object.ts'
import { metaOf, paramsOf } from './params.ts'

/** A protocol era: `legacy` revisions (up to 2025-11-25) begin with `initialize`, `modern` ones (from 2026-07-28) have metadata in each request. */
export type McpEra = 'modern' | 'legacy'

/** The first revision without `initialize` and sessions. */
export const modernRevision = '2026-07-28'

/** The revisions that begin with `initialize`, newest first. */
export const legacyRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

/** Request and response headers of the Streamable HTTP transport (MCP 2026-07-28 transports). */
export const mcpHeader = {
  protocolVersion: 'MCP-Protocol-Version',
  method: 'Mcp-Method',
  name: 'Mcp-Name',
  /** Prefix of the headers that carry `x-mcp-header` arguments. */
  paramPrefix: 'Mcp-Param-',
  /** Up to 2025-11-25. */
  sessionId: 'Mcp-Session-Id',
  /** Up to 2025-11-25. */
  lastEventId: 'Last-Event-ID',
} as const

/** A query parameter of `/mcp` that challenges every request without a credential, even where tools are public. */
export const signInParameter = 'sign-in'

/** `serverUrl` without {@link signInParameter}: both addresses are one resource, with the same tokens. */
export function withoutSignIn(serverUrl: string): URL {
  const url = new URL(serverUrl)
  if (url.search === `?${signInParameter}`) url.search = ''
  return url
}

/** Keys of `_meta` that MCP reserves (MCP 2026-07-28 basic, `_meta`). */
export const mcpMetaKey = {
  relatedTask: 'io.modelcontextprotocol/related-task',
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  progressToken: 'progressToken',
} as const

/** The error codes that MCP adds to JSON-RPC. */
export const mcpErrorCode = {
  /** Header and body disagree, or a required header is missing (400). */
  headerMismatch: -32_020,
  /** The request needs a capability the client did not declare (400). */
  missingClientCapability: -32_021,
  /** Unknown revision (400); `data` is `{ supported, requested }`. */
  unsupportedProtocolVersion: -32_022,
  /** Up to 2025-11-25; later revisions use -32602. */
  resourceNotFound: -32_002,
} as const

/** Error codes of the transport that are not in the specification, as the MCP SDKs use them. */
export const transportErrorCode = { refused: -32_000, sessionNotFound: -32_001 } as const

/** The parameter that the `Mcp-Name` header repeats, by method (MCP 2026-07-28 transports). */
export const nameParameters: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/** Returns true for the revisions that Drawbridge supports. */
export function isKnownRevision(revision: string): boolean {
  return revision === modernRevision || (legacyRevisions as readonly string[]).includes(revision)
}

/**
 * The era of a message: modern exactly if `params._meta` has the protocol version, whatever its value (MCP 2026-07-28 basic:
 * required on every request). Responses do not have it and count as legacy; look at their request instead.
 */
export function eraOfMessage(message: object): McpEra {
  const isCall = 'method' in message
  return isCall && Object.hasOwn(metaOf(paramsOf(message)), mcpMetaKey.protocolVersion) ? 'modern' : 'legacy'
}

/**
 * Returns whether a result of `server/discover` names 2026-07-28. Servers of the Go SDK that keep sessions answer the method and name
 * earlier revisions only.
 */
export function isModernDiscovery(result: unknown): result is JsonObject {
  const versions = isJsonObject(result) ? result['supportedVersions'] : undefined
  return Array.isArray(versions) && versions.includes(modernRevision)
}

/** Returns `serverInfo` of a `server/discover` result. Drafts of 2026-07-28 had it in the body. */
export function discoveredServerInfo(discovered: JsonObject): unknown {
  return metaOf(discovered)[mcpMetaKey.serverInfo] ?? discovered['serverInfo']
}
