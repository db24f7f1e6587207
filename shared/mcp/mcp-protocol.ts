import type { JsonRpcMessage } from './json-rpc.ts'

/** How a peer speaks: per-request metadata without sessions (`modern`), or `initialize` first (`legacy`). */
export type McpEra = 'modern' | 'legacy'

/** The first revision without `initialize` and sessions. */
export const modernRevision = '2026-07-28'

/** The revisions that open with `initialize`, newest first. */
export const legacyRevisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const

/** Request and response headers of the Streamable HTTP transport (MCP 2026-07-28 transports). */
export const mcpHeader = {
  protocolVersion: 'MCP-Protocol-Version',
  method: 'Mcp-Method',
  name: 'Mcp-Name',
  /** Prefix of the headers that carry `x-mcp-header` arguments. */
  paramPrefix: 'Mcp-Param-',
  /** Legacy revisions only; ignored and never minted in the modern era. */
  sessionId: 'Mcp-Session-Id',
  /** Legacy revisions only. */
  lastEventId: 'Last-Event-ID',
} as const

/** Keys of `_meta` that MCP reserves (MCP 2026-07-28 basic, `_meta`). */
export const mcpMetaKey = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  progressToken: 'progressToken',
} as const

/** Error codes MCP defines beside those of JSON-RPC. */
export const mcpErrorCode = {
  /** Header and body disagree, or a required header is missing (400). */
  headerMismatch: -32_020,
  /** The request needs a capability the client did not declare (400). */
  missingClientCapability: -32_021,
  /** Unknown revision (400); `data` is `{ supported, requested }`. */
  unsupportedProtocolVersion: -32_022,
  /** Legacy revisions only; the modern era answers -32602. */
  resourceNotFound: -32_002,
  /** 2025-11-25 only. */
  urlElicitationRequired: -32_042,
} as const

/** Whether a revision is one Drawbridge can speak. */
export function isKnownRevision(revision: string): boolean {
  return revision === modernRevision || (legacyRevisions as readonly string[]).includes(revision)
}

/**
 * The era a message belongs to: modern exactly if `params._meta` carries the protocol version, whatever its
 * value (MCP 2026-07-28 basic: required on every request). Responses carry no claim and count as legacy; the
 * request they answer decides.
 */
export function eraOfMessage(message: JsonRpcMessage): McpEra {
  const meta = 'method' in message ? message.params?.['_meta'] : undefined
  if (typeof meta !== 'object' || meta === null) return 'legacy'
  return Object.hasOwn(meta, mcpMetaKey.protocolVersion) ? 'modern' : 'legacy'
}
