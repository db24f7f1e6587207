import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'

/** Whether a client can be asked to open a link: by its `initialize` (MCP 2025-11-25), or by this request (2026-07-28). */
export function offersUrlElicitation({ method, params }: JsonRpcRequest): boolean {
  if (method === 'initialize') return hasUrlMode(params?.['capabilities'])
  const meta = params?.['_meta']
  return isJsonObject(meta) && hasUrlMode(meta[mcpMetaKey.clientCapabilities])
}

/** Whether an answer to an elicitation says that the link is open. */
export function isAccepted(answer: unknown): boolean {
  return isJsonObject(answer) && answer['action'] === 'accept'
}

function hasUrlMode(capabilities: unknown): boolean {
  const elicitation = isJsonObject(capabilities) ? capabilities['elicitation'] : undefined
  return isJsonObject(elicitation) && isJsonObject(elicitation['url'])
}
