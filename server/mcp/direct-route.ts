import { classifyInboundRequest, isInitializeRequest } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { decodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import {
  legacyRevisions,
  type McpEra,
  mcpHeader,
  mcpMetaKey,
  modernRevision,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { createBoundedMap } from '../core/bounded-map.ts'

/** How a message can be answered without the SDK; `other` cannot. Ids are as they came. */
export type DirectRoute =
  /** The answer is the same for everyone: `key` names it. */
  | { kind: 'kept'; key: string; id: string | number }
  | { kind: 'call'; era: McpEra; id: string | number; name: string; input: JsonObject | undefined }
  /** A notification: 202, and nothing happens. */
  | { kind: 'accepted' }
  | { kind: 'other' }

/** What the route depends on beside the message. */
export interface DirectRules {
  /** Whether lists and capabilities are the same for every caller. */
  hasFixedCatalogue: boolean
  /** Whether clients of the earlier revisions get sessions. */
  hasSessions: boolean
}

/** Finds the {@link DirectRoute} of the JSON of a POST. */
export type DirectRouter = (headers: Headers, body: unknown) => DirectRoute

const other: DirectRoute = { kind: 'other' }
const reservedPrefix = 'io.modelcontextprotocol/'
const mostEnvelopes = 1000
const longestEnvelope = 2000

/**
 * Creates a {@link DirectRouter}: it recognises what well-behaved clients send all day, in its usual form. Whatever is
 * unusual is `other`, faults included: so there is one place that knows what is wrong with a message, the SDK.
 *
 * What a client of 2026-07-28 says about itself is checked by the SDK when it is new, and remembered.
 */
export function createDirectRouter(rules: DirectRules): DirectRouter {
  const goodEnvelopes = createBoundedMap<true>(mostEnvelopes)

  function isGoodEnvelope(meta: JsonObject, body: unknown): boolean {
    const key = JSON.stringify([meta[mcpMetaKey.clientInfo], meta[mcpMetaKey.clientCapabilities]])
    if (key.length > longestEnvelope) return false
    if (goodEnvelopes.get(key)) return true
    // Version and method of the headers were compared by whoever asks.
    const { kind } = classifyInboundRequest({ httpMethod: 'POST', body })
    if (kind === 'modern') goodEnvelopes.set(key, true)
    return kind === 'modern'
  }

  function routeModern(headers: Headers, message: Message, meta: JsonObject): DirectRoute {
    const { id, method, params, body } = message
    if (id === undefined || !agreesWithHeaders(headers, method, meta)) return other
    switch (method) {
      case 'tools/list':
      case 'server/discover': {
        const isUsual = rules.hasFixedCatalogue && hasOnly(params, '_meta') && isGoodEnvelope(meta, body)
        return isUsual ? { kind: 'kept', key: `modern ${method}`, id } : other
      }
      case 'tools/call': {
        const call = readCall(params)
        const isUsual = call && namesTool(headers, call.name) && isGoodEnvelope(meta, body)
        return isUsual ? { kind: 'call', era: 'modern', id, ...call } : other
      }
      default:
        return other
    }
  }

  function routeLegacy(headers: Headers, message: Message): DirectRoute {
    const session = headers.has(mcpHeader.sessionId)
    if (rules.hasSessions && (session || message.method === 'initialize')) return other
    if (headers.has(mcpHeader.method) || !acceptsJson(headers)) return other
    if (!isEarlierRevision(headers.get(mcpHeader.protocolVersion))) return other
    return message.method === 'initialize' ? routeInitialize(message, rules) : routeEarlier(message, rules)
  }

  return (headers, body) => {
    const message = readMessage(body)
    if (!message) return other
    const { params } = message
    const meta = params?.['_meta']
    if (meta === undefined) return routeLegacy(headers, message)
    if (!isJsonObject(meta) || mcpMetaKey.progressToken in meta) return other
    if (mcpMetaKey.protocolVersion in meta) return routeModern(headers, message, meta)
    const isPlain = Object.keys(meta).every((key) => !key.startsWith(reservedPrefix))
    return isPlain ? routeLegacy(headers, message) : other
  }
}

/** Reserved keys that change nothing about an answer; the level of log messages does. */
const quietKeys: ReadonlySet<string> = new Set([
  mcpMetaKey.protocolVersion,
  mcpMetaKey.clientInfo,
  mcpMetaKey.clientCapabilities,
])

function agreesWithHeaders(headers: Headers, method: string, meta: JsonObject): boolean {
  return (
    meta[mcpMetaKey.protocolVersion] === modernRevision &&
    headers.get(mcpHeader.protocolVersion) === modernRevision &&
    headers.get(mcpHeader.method) === method &&
    Object.keys(meta).every((key) => !key.startsWith(reservedPrefix) || quietKeys.has(key))
  )
}

function namesTool(headers: Headers, name: string): boolean {
  const named = headers.get(mcpHeader.name)
  return named !== null && decodeMcpHeaderValue(named) === name
}

interface Message {
  /** Undefined: a notification. */
  id: string | number | undefined
  method: string
  params: JsonObject | undefined
  body: JsonObject
}

/** A request or notification without anything strange about it. */
function readMessage(body: unknown): Message | undefined {
  if (!isJsonObject(body) || !hasOnly(body, 'jsonrpc', 'id', 'method', 'params')) return undefined
  const { id, method, params } = body
  const isGoodId = id === undefined ? !('id' in body) : typeof id === 'string' || Number.isSafeInteger(id)
  const isGood = isGoodId && body['jsonrpc'] === '2.0' && typeof method === 'string'
  if (!isGood || !(params === undefined ? !('params' in body) : isJsonObject(params))) return undefined
  return { id: id as Message['id'], method, params: params as Message['params'], body }
}

function routeInitialize({ id, params, body }: Message, rules: DirectRules): DirectRoute {
  const revision = params?.['protocolVersion']
  const isKnown = (legacyRevisions as readonly unknown[]).includes(revision)
  return id !== undefined && rules.hasFixedCatalogue && isKnown && isInitializeRequest(body)
    ? { kind: 'kept', key: `legacy initialize ${String(revision)}`, id }
    : other
}

function routeEarlier({ id, method, params }: Message, rules: DirectRules): DirectRoute {
  if (id === undefined) return method.startsWith('notifications/') ? { kind: 'accepted' } : other
  if (method === 'tools/call') {
    const call = params && readCall(params)
    return call ? { kind: 'call', era: 'legacy', id, ...call } : other
  }
  const isKept = method === 'ping' || (method === 'tools/list' && rules.hasFixedCatalogue)
  return isKept && (params === undefined || hasOnly(params, '_meta'))
    ? { kind: 'kept', key: `legacy ${method}`, id }
    : other
}

function readCall(
  params: JsonObject | undefined,
): { name: string; input: JsonObject | undefined } | undefined {
  const { name, arguments: input } = params ?? {}
  if (typeof name !== 'string' || !hasOnly(params, 'name', 'arguments', '_meta')) return undefined
  return input === undefined || isJsonObject(input) ? { name, input } : undefined
}

function hasOnly(object: JsonObject | undefined, ...keys: readonly string[]): boolean {
  for (const key in object) if (!keys.includes(key)) return false
  return true
}

/** Also when nothing is said, and when the newest version is named on an old message: hosted assistants do that. */
function isEarlierRevision(named: string | null): boolean {
  return named === null || named === modernRevision || (legacyRevisions as readonly string[]).includes(named)
}

function acceptsJson(headers: Headers): boolean {
  const accept = headers.get('accept') || '*/*'
  return accept.includes('application/json') || accept.includes('*/*')
}
