import { plainNumber } from '../../../exact-json.ts'
import { isJsonObject, type JsonObject } from '../../../json-object.ts'
import { isJsonRpcId, jsonRpcCode, type JsonRpcNotification, type JsonRpcRequest } from '../../json-rpc.ts'
import { mcpErrorCode, mcpMetaKey, modernRevision } from '../../mcp-protocol.ts'
import { CallError } from '../call-error.ts'
import { mapClientCapabilities } from '../capabilities.ts'
import { logSeverity, metaOf } from '../../params.ts'

/** The `_meta` of a 2026-07-28 client's request, as far as it describes the client. */
export interface Claims {
  /** In the form for a 2025 server. */
  capabilities: JsonObject
  clientInfo: JsonObject | undefined
  /** The lowest severity of log messages that this request wants; undefined for none. */
  logSeverity: number | undefined
  logLevel: string | undefined
  progressToken: string | number | undefined
}

/** The members of `_meta` that are new in 2026-07-28. */
export const claimKeys: readonly string[] = [
  mcpMetaKey.protocolVersion,
  mcpMetaKey.clientInfo,
  mcpMetaKey.clientCapabilities,
  mcpMetaKey.logLevel,
]

const removedMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/**
 * Reads the claims of a request. Throws {@link CallError} for what a 2026-07-28 server would refuse: incomplete or malformed
 * `_meta` (-32602), another version (-32022), and methods of tasks or that were removed since 2025-11-25 (-32601).
 */
export function readClaims({ method, params }: JsonRpcRequest): Claims {
  const meta = metaOf(params)
  const version = meta[mcpMetaKey.protocolVersion]
  const capabilities = meta[mcpMetaKey.clientCapabilities]
  const clientInfo = meta[mcpMetaKey.clientInfo]
  const logLevel = meta[mcpMetaKey.logLevel]
  if (typeof version !== 'string') throw malformed(mcpMetaKey.protocolVersion)
  if (version !== modernRevision) {
    const data = { supported: [modernRevision], requested: version }
    throw new CallError(mcpErrorCode.unsupportedProtocolVersion, 'Unsupported protocol version', data)
  }
  if (!isJsonObject(capabilities)) throw malformed(mcpMetaKey.clientCapabilities)
  if (clientInfo !== undefined && !isImplementation(clientInfo)) throw malformed(mcpMetaKey.clientInfo)
  const severity = logSeverity(logLevel)
  if (logLevel !== undefined && severity === undefined) throw malformed(mcpMetaKey.logLevel)
  if (removedMethods.has(method) || method.startsWith('tasks/'))
    throw new CallError(jsonRpcCode.methodNotFound, `Method not found: ${method}`)
  return {
    capabilities: mapClientCapabilities(capabilities),
    clientInfo,
    logSeverity: severity,
    logLevel: typeof logLevel === 'string' ? logLevel : undefined,
    progressToken: readProgressToken(meta[mcpMetaKey.progressToken]),
  }
}

function readProgressToken(token: unknown): string | number | undefined {
  return isJsonRpcId(token) ? token : undefined
}

function isImplementation(value: unknown): value is JsonObject {
  return isJsonObject(value) && typeof value['name'] === 'string' && typeof value['version'] === 'string'
}

function malformed(key: string): CallError {
  return new CallError(jsonRpcCode.invalidParams, `_meta lacks a valid ${key}`)
}

/** They name elicitations by id, and tasks: 2026-07-28 has neither. */
const removedNotifications: ReadonlySet<string> = new Set([
  'notifications/elicitation/complete',
  'notifications/tasks/status',
])

/**
 * A notification of a 2025 server for the client request with these claims; undefined if it must not be sent. Progress is
 * reported under `upstreamId` there, and under the client's own token here.
 */
export function toNotification2026(
  notification: JsonRpcNotification,
  claims: Claims,
  upstreamId: number,
): JsonRpcNotification | undefined {
  const { method, params } = notification
  if (removedNotifications.has(method)) return undefined
  if (method === 'notifications/message') return isWantedLog(params, claims) ? notification : undefined
  if (method !== 'notifications/progress') return notification
  const { progressToken } = claims
  if (progressToken === undefined || plainNumber(params?.['progressToken']) !== upstreamId) return undefined
  return { ...notification, params: { ...params, progressToken } }
}

/** Returns true if the request with these claims asked for log messages of this severity. */
export function isWantedLog(params: JsonObject | undefined, claims: Claims | undefined): boolean {
  const minimum = claims?.logSeverity
  const severity = logSeverity(params?.['level'])
  return minimum !== undefined && severity !== undefined && severity >= minimum
}
