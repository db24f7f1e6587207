import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { isSubscription } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import {
  jsonRpcCode,
  type JsonRpcId,
  type JsonRpcRequest,
  notJsonReason,
  parseWireMessage,
  splitBatch,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey, modernRevision, type McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Send, Step } from '@drawbridge/shared/mcp/pipeline.ts'
import { subscriptionNotice } from '../sign-in/authorization-prompt.ts'
import { refuse, type ClientContext, type PendingCall } from './pending-calls.ts'

const batchRevision = '2025-03-26'

/** Found in every message that may claim the newer era, however its JSON escapes a slash. */
const metaMark = 'io.modelcontextprotocol'

/**
 * Reads each message of the client: finds its era, splits batches, answers with an error what is no message, and remembers how
 * the client has introduced itself. Whether parameters make sense is for the server to say.
 */
export class ClientInput implements Step<ClientContext> {
  /** As it came, so that a session can be opened again in the name of the client. */
  initialize: { id: JsonRpcId; message: WireMessage; params: JsonObject } | undefined
  /** The client has sent `notifications/initialized` since. */
  isInitialized = false
  #hasModernClient = false

  send(message: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const { envelope } = message
    switch (envelope.kind) {
      case 'request':
        return next(message, inEra(context, this.#readRequest(message, envelope.id, envelope.method)))
      case 'notification':
        if (envelope.method === 'notifications/initialized') this.isInitialized = true
        return next(message, inEra(context, this.#eraOfNotification(message)))
      case 'response':
        return next(message, context)
      case 'batch':
        return this.#readBatch(message, context, next)
      case 'invalid': {
        const isNoJson = envelope.reason === notJsonReason
        const code = isNoJson ? jsonRpcCode.parseError : jsonRpcCode.invalidRequest
        const reason = isNoJson
          ? `The message is ${envelope.reason}.`
          : `Invalid message: ${envelope.reason}.`
        return refuse(context, envelope.id ?? null, code, reason)
      }
    }
  }

  /**
   * `_meta` of a request of our own in the era of 2026-07-28: what the client claims in `about`, or else in its `initialize`.
   */
  claims(about: WireMessage | undefined): JsonObject {
    const own = about === undefined ? undefined : (parseWireMessage(about) as JsonRpcRequest).params
    const meta = own?.['_meta']
    const said = this.initialize?.params
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

  /** The messages that tell the client, in each era in which it wants to know, that it should list the tools again. */
  toolsChanged(calls: readonly PendingCall[]): WireMessage[] {
    const method = 'notifications/tools/list_changed'
    const notices = this.isInitialized ? [toWireMessage({ jsonrpc: '2.0', method })] : []
    for (const call of calls.filter(isSubscription)) {
      const wanted = (parseWireMessage(call.wire) as JsonRpcRequest).params?.['notifications']
      if (isJsonObject(wanted) && wanted['toolsListChanged'] === true)
        notices.push(toWireMessage(subscriptionNotice(method, call.id)))
    }
    return notices
  }

  #readRequest(message: WireMessage, id: JsonRpcId, method: string): McpEra {
    const era = eraOf(message)
    if (era === 'modern') this.#hasModernClient = true
    else if (method === 'initialize') {
      this.initialize = { id, message, params: paramsOf(message) ?? {} }
      this.isInitialized = false
    }
    return era
  }

  /** The newer era asks for claims in requests only. */
  #eraOfNotification(message: WireMessage): McpEra {
    const isModern = eraOf(message) === 'modern' || (this.#hasModernClient && this.initialize === undefined)
    return isModern ? 'modern' : 'legacy'
  }

  /** Messages of a batch are answered one by one: a client tells answers apart by their ids. */
  async #readBatch(batch: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const isAllowed = this.initialize?.params['protocolVersion'] === batchRevision
    const messages = isAllowed ? splitBatch(batch) : []
    const reason = isAllowed ? 'The batch is empty or too long.' : `Only ${batchRevision} has batches.`
    if (messages.length === 0) return refuse(context, null, jsonRpcCode.invalidRequest, reason)
    await Promise.all(messages.map((message) => this.send(message, context, next)))
  }
}

/**
 * Lets nothing overtake `initialize`: scripts write all their lines at once, and no server takes what comes before its session
 * is there. A ping may come at any time (MCP 2025-11-25 lifecycle), and so may a response.
 */
export class InitializeOrder implements Step<ClientContext> {
  #opening: Promise<void> | undefined

  send(message: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    const { envelope } = message
    const isFree = envelope.kind === 'response' || (envelope.kind === 'request' && envelope.method === 'ping')
    if (isFree) return next(message, context)
    if (this.#opening !== undefined) return this.#sendLater(message, context, next)
    if (envelope.kind === 'request' && envelope.method === 'initialize' && context.call !== undefined)
      this.#opening = this.#until(context.call.answered)
    return next(message, context)
  }

  /** Those that wait go on in the order in which they came; the first may be another `initialize`. */
  async #sendLater(message: WireMessage, context: ClientContext, next: Send<ClientContext>): Promise<void> {
    while (this.#opening !== undefined) await this.#opening
    const isCancelled = context.signal?.aborted === true
    if (!isCancelled) return this.send(message, context, next)
  }

  async #until(answered: Promise<void>): Promise<void> {
    await answered
    this.#opening = undefined
  }
}

function inEra(context: ClientContext, era: McpEra): ClientContext {
  return era === context.era ? context : { ...context, era }
}

function eraOf(message: WireMessage): McpEra {
  if (!message.text.includes(metaMark)) return 'legacy'
  const meta = paramsOf(message)?.['_meta']
  return isJsonObject(meta) && mcpMetaKey.protocolVersion in meta ? 'modern' : 'legacy'
}

export function paramsOf(message: WireMessage): JsonObject | undefined {
  const parsed = parseWireMessage(message)
  return 'method' in parsed ? parsed.params : undefined
}
