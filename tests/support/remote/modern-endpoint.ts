import type { IncomingMessage, ServerResponse } from 'node:http'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  jsonRpcCode,
  jsonRpcError,
  parseJsonRpcMessage,
  type JsonRpcId,
  type JsonRpcRequest,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { decodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import { mcpErrorCode, mcpHeader, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { answerMethod, capabilities, errorOf, instructions, RpcFailure, serverInfo } from './catalogue.ts'
import { header, type Caller, type EndpointWorld, type McpExchange } from './endpoint-world.ts'
import { eventStreamHead, sendJson, sendText } from './exchange-parts.ts'
import { count, countStream } from './remote-counters.ts'

/** 2026-07-28: every request is independent. */
export interface ModernEndpoint {
  handle(exchange: McpExchange): void
  /** Sends a notification on the listen streams that asked for its kind. */
  tell(method: string, params: JsonObject): void
  dropStreams(): void
}

interface Listener {
  id: JsonRpcId
  wanted: JsonObject
  response: ServerResponse
}

/** Creates the endpoint, without authorization. */
export function createModernEndpoint(world: EndpointWorld): ModernEndpoint {
  const listeners = new Set<Listener>()

  function handle({ request, response, body, caller }: McpExchange): void {
    if (request.method !== 'POST') return sendText(response, 405, 'Method not allowed.')
    const parsed = parseJsonRpcMessage(body)
    if (parsed.kind === 'invalid') {
      return sendJson(response, 400, jsonRpcError(parsed.id, jsonRpcCode.invalidRequest, parsed.reason))
    }
    if (parsed.kind !== 'request') {
      if (parsed.kind === 'notification') count(world.counters.methods, parsed.message.method)
      return void response.writeHead(202).end()
    }
    const { message } = parsed
    const fault = faultOf(message, request)
    if (fault !== undefined) return sendJson(response, 400, fault)
    count(world.counters.methods, message.method)
    if (!world.allows(caller, message, response)) return
    if (message.method === 'subscriptions/listen') return listen(message, response)
    void answer(message, caller, response)
  }

  async function answer(message: JsonRpcRequest, caller: Caller, response: ServerResponse): Promise<void> {
    const { id } = message
    const cancel = new AbortController()
    response.on('close', () => {
      if (response.writableFinished) return
      world.counters.cancelled.push(id)
      cancel.abort()
    })
    try {
      const result = await resultOf(message, caller, response, cancel.signal)
      finish(response, { jsonrpc: '2.0', id, result: complete(message.method, result) })
    } catch (error) {
      if (cancel.signal.aborted) return
      finish(response, errorOf(id, error))
    }
  }

  async function resultOf(
    message: JsonRpcRequest,
    caller: Caller,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const { counters, extraTools, settings } = world
    const params = message.params ?? {}
    if (message.method === 'server/discover') {
      return { supportedVersions: [modernRevision], capabilities, instructions }
    }
    const meta = params['_meta'] as JsonObject
    return answerMethod(message.method, {
      counters,
      params,
      signal,
      caller,
      extraTools,
      replacedTools: settings.tools,
      notify(method, params) {
        if (method === 'notifications/message' && meta[mcpMetaKey.logLevel] === undefined) return
        writeEvent(response, { jsonrpc: '2.0', method, params })
      },
      ask: () => Promise.reject(new RpcFailure(jsonRpcCode.internalError, 'not in this era')),
    })
  }

  function finish(response: ServerResponse, message: JsonObject): void {
    if (response.headersSent) {
      writeEvent(response, message)
      return void response.end()
    }
    sendJson(response, statusOf(message), message)
  }

  function listen(message: JsonRpcRequest, response: ServerResponse): void {
    const asked = message.params?.['notifications']
    const listener = { id: message.id, wanted: isJsonObject(asked) ? asked : {}, response }
    listeners.add(listener)
    countStream(world.counters, response)
    response.on('close', () => listeners.delete(listener))
    tellOne(listener, 'notifications/subscriptions/acknowledged', { notifications: listener.wanted })
  }

  return {
    handle,
    tell(method, params) {
      for (const listener of listeners) if (wants(listener, method)) tellOne(listener, method, params)
    },
    dropStreams() {
      for (const { response } of listeners) response.socket?.resetAndDestroy()
    },
  }
}

const resultMeta = { [mcpMetaKey.serverInfo]: serverInfo }

function tellOne(listener: Listener, method: string, params: JsonObject): void {
  const _meta = { [mcpMetaKey.subscriptionId]: listener.id }
  writeEvent(listener.response, { jsonrpc: '2.0', method, params: { ...params, _meta } })
}

function wants({ wanted }: Listener, method: string): boolean {
  const [, kind] = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method) ?? []
  return wanted[`${kind}ListChanged`] === true
}

function writeEvent(response: ServerResponse, message: JsonObject): void {
  if (!response.headersSent) response.writeHead(200, eventStreamHead)
  response.write(`data: ${JSON.stringify(message)}\n\n`)
}

function complete(method: string, result: JsonObject): JsonObject {
  const cacheable = /\/list$|^resources\/read$|^server\/discover$/.test(method)
  return {
    resultType: 'complete',
    ...result,
    ...(cacheable ? { ttlMs: 0, cacheScope: 'private' } : {}),
    _meta: resultMeta,
  }
}

function statusOf(message: JsonObject): number {
  const error = message['error']
  if (!isJsonObject(error)) return 200
  return error['code'] === jsonRpcCode.methodNotFound ? 404 : 200
}

/** Returns the fault in headers and `_meta` of a request (MCP 2026-07-28 transports). */
function faultOf(message: JsonRpcRequest, request: IncomingMessage): JsonObject | undefined {
  const refuse = (code: number, text: string, data?: unknown): JsonObject => ({
    ...jsonRpcError(message.id, code, text, data),
  })
  const meta = message.params?.['_meta']
  const version = isJsonObject(meta) ? meta[mcpMetaKey.protocolVersion] : undefined
  if (!isJsonObject(meta) || typeof version !== 'string') {
    const supported = { supported: [modernRevision], requested: header(request, mcpHeader.protocolVersion) }
    return message.method === 'initialize'
      ? refuse(mcpErrorCode.unsupportedProtocolVersion, 'Unsupported protocol version', supported)
      : refuse(jsonRpcCode.invalidParams, '_meta is missing')
  }
  if (version !== modernRevision) {
    const data = { supported: [modernRevision], requested: version }
    return refuse(mcpErrorCode.unsupportedProtocolVersion, 'Unsupported protocol version', data)
  }
  if (!isJsonObject(meta[mcpMetaKey.clientCapabilities])) {
    return refuse(jsonRpcCode.invalidParams, 'clientCapabilities is missing')
  }
  const expected = expectedHeaders(message, version)
  const wrong = Object.entries(expected).find(([name, value]) => {
    const sent = header(request, name)
    return (sent === undefined ? undefined : decodeMcpHeaderValue(sent)) !== value
  })
  return wrong === undefined
    ? undefined
    : refuse(mcpErrorCode.headerMismatch, `${wrong[0]} does not fit the body`)
}

function expectedHeaders(message: JsonRpcRequest, version: string): Record<string, string> {
  const params = message.params ?? {}
  const expected: Record<string, string> = {
    [mcpHeader.protocolVersion]: version,
    [mcpHeader.method]: message.method,
  }
  if (message.method === 'tools/call') expected[mcpHeader.name] = String(params['name'])
  return expected
}
