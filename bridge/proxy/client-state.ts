import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcId, JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { parseWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** What the local client has said of itself. Kept as it came, so that a session can be opened again in its name. */
export interface ClientState {
  initialize: { id: JsonRpcId; message: WireMessage; params: JsonObject } | undefined
  initialized: WireMessage | undefined
}

/** Remembers an `initialize`; the client is not initialized then, until it says so again. */
export function recordInitialize(client: ClientState, message: WireMessage): void {
  const { id, params } = parseWireMessage(message) as JsonRpcRequest
  client.initialize = { id, message, params: params ?? {} }
  client.initialized = undefined
}

/** `_meta` of a request of our own in the era of 2026-07-28: what the client claims in this message, or else in `initialize`. */
export function claimsOf(client: ClientState, message: WireMessage | undefined): JsonObject {
  const own = message === undefined ? undefined : (parseWireMessage(message) as JsonRpcRequest).params
  const meta = own?.['_meta']
  const said = client.initialize?.params
  const claims: JsonObject = {
    [mcpMetaKey.protocolVersion]: modernRevision,
    [mcpMetaKey.clientCapabilities]: isJsonObject(said?.['capabilities']) ? said['capabilities'] : {},
    ...(isJsonObject(said?.['clientInfo']) ? { [mcpMetaKey.clientInfo]: said['clientInfo'] } : {}),
  }
  if (!isJsonObject(meta)) return claims
  for (const key of [mcpMetaKey.clientCapabilities, mcpMetaKey.clientInfo])
    if (isJsonObject(meta[key])) claims[key] = meta[key]
  return claims
}
