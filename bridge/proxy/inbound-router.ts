import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { notJsonReason, parseWireMessage, splitBatch } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { PendingRequest, PendingRequests } from './pending-requests.ts'
import { recordInitialize } from './client-state.ts'
import type { ClientState } from './client-state.ts'
import type { ClientConnection } from './client-connection.ts'
import type { ServerConnection } from './server-connection.ts'
import type { ToolFilter } from './tool-filter.ts'

/** What a message of the local client is checked against, and who gets it. */
export interface InboundRouterPorts {
  pendingRequests: PendingRequests
  local: ClientConnection
  client: ClientState
  connection: Pick<ServerConnection, 'request' | 'pass' | 'cancel'>
  filter: ToolFilter
  /** A call was taken in: there may be too many now. */
  opened(call: PendingRequest): void
  /** The client has answered a request of the server. */
  replied(): void
}

/** The revision that has batches. */
const batchRevision = '2025-03-26'

/** Found in every message that may claim the newer era, however its JSON escapes a slash. */
const metaMark = 'io.modelcontextprotocol'

/**
 * Takes each message of the local client, decides what it is and in which era, and gives it on. What is no message is
 * answered with an error; the next one is welcome. Whether parameters make sense is for the server to say.
 */
export function createInboundRouter(ports: InboundRouterPorts): (message: WireMessage) => void {
  const { pendingRequests, local, client, connection, filter } = ports
  let hasModernClient = false

  function take(message: WireMessage): void {
    const { envelope } = message
    switch (envelope.kind) {
      case 'request':
        return takeRequest(message, envelope.id, envelope.method)
      case 'notification':
        return takeNotification(message, envelope.method)
      case 'response':
        ports.replied()
        return connection.pass(message, 'legacy')
      case 'batch':
        return takeBatch(message)
      case 'invalid':
        return takeInvalid(envelope.id, envelope.reason)
    }
  }

  function takeInvalid(id: JsonRpcId | undefined, reason: string): void {
    const isNoJson = reason === notJsonReason
    const code = isNoJson ? jsonRpcCode.parseError : jsonRpcCode.invalidRequest
    local.refuse(id ?? null, code, isNoJson ? `The message is ${reason}.` : `Invalid message: ${reason}.`)
  }

  /** Answered one by one: a client tells answers apart by their ids. */
  function takeBatch(batch: WireMessage): void {
    const isAllowed = client.initialize?.params['protocolVersion'] === batchRevision
    const messages = isAllowed ? splitBatch(batch) : []
    if (messages.length > 0) return messages.forEach(take)
    const reason = isAllowed ? 'The batch is empty or too long.' : `Only ${batchRevision} has batches.`
    local.refuse(null, jsonRpcCode.invalidRequest, reason)
  }

  function takeRequest(message: WireMessage, id: JsonRpcId, method: string): void {
    const era = eraOf(message)
    if (era === 'modern') hasModernClient = true
    const reason = filter.hasRules && method === 'tools/call' ? reasonAgainst(message) : undefined
    if (reason !== undefined) return local.refuse(id, jsonRpcCode.invalidParams, reason)
    const call = pendingRequests.open(id, method, era, message)
    if (call === undefined)
      return local.refuse(id, jsonRpcCode.invalidRequest, 'A request with this id has no answer yet.')
    if (method === 'initialize' && era === 'legacy') recordInitialize(client, message)
    connection.request(call)
    ports.opened(call)
  }

  function reasonAgainst(message: WireMessage): string | undefined {
    const name = paramsOf(message)?.['name']
    return typeof name === 'string' ? filter.reasonAgainst(name) : undefined
  }

  function takeNotification(message: WireMessage, method: string): void {
    if (method === 'notifications/cancelled') return cancel(message)
    if (method === 'notifications/initialized') client.initialized = message
    // The newer era asks for claims in requests only.
    const isModern = eraOf(message) === 'modern' || (hasModernClient && client.initialize === undefined)
    connection.pass(message, isModern ? 'modern' : 'legacy')
  }

  /** What is over already needs no cancelling, and a server that is told nevertheless may take it for another call. */
  function cancel(message: WireMessage): void {
    const parsed = parseWireMessage(message)
    const id = 'method' in parsed ? parsed.params?.['requestId'] : undefined
    const call = typeof id === 'string' || typeof id === 'number' ? pendingRequests.get(id) : undefined
    if (call === undefined || !pendingRequests.settle(call)) return
    connection.cancel(call, message)
  }

  return take
}

function eraOf(message: WireMessage): McpEra {
  if (!message.text.includes(metaMark)) return 'legacy'
  const meta = paramsOf(message)?.['_meta']
  return isJsonObject(meta) && mcpMetaKey.protocolVersion in meta ? 'modern' : 'legacy'
}

function paramsOf(message: WireMessage): JsonObject | undefined {
  const parsed = parseWireMessage(message)
  return 'method' in parsed ? parsed.params : undefined
}
