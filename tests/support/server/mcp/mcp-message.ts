import { toResponse } from '@drawbridge/shared/text-response.ts'
import { callsSample } from './tool-fixture.ts'
import type { IncomingCalls } from '../../../../server/core/access/call-record.ts'
import type { SignedInCaller } from '../../../../server/core/tokens/caller.ts'
import type { McpEndpoint } from '../../../../server/mcp/endpoint-config.ts'

/** A JSON-RPC message from a stream, with the id of its event. */
export interface StreamedMessage {
  eventId: string | undefined
  message: {
    id?: string | number
    method?: string
    params?: Record<string, unknown>
    result?: Record<string, unknown>
    error?: { code: number; message: string }
  }
}

/** Reads an event stream message by message. */
export interface MessageReader {
  /** Returns the next message; undefined when the stream has ended. Skips comments and events without a message. */
  next(): Promise<StreamedMessage | undefined>
  /** Returns all remaining messages. */
  rest(): Promise<StreamedMessage[]>
  cancel(): Promise<void>
}

/** Reads `response`, which must be an event stream. */
export function readMessages(response: Response): MessageReader {
  if (!response.body || response.headers.get('content-type') !== 'text/event-stream')
    throw new Error(`This is not an event stream: ${response.status} ${response.headers.get('content-type')}`)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let buffer = ''
  async function next(): Promise<StreamedMessage | undefined> {
    for (;;) {
      const end = buffer.indexOf('\n\n')
      if (end >= 0) {
        const lines = buffer.slice(0, end).split('\n')
        buffer = buffer.slice(end + 2)
        const data = field(lines, 'data')
        if (data)
          return { eventId: field(lines, 'id'), message: JSON.parse(data) as StreamedMessage['message'] }
        continue
      }
      const { done, value } = await reader.read()
      if (done) return undefined
      buffer += value
    }
  }
  return {
    next,
    async rest() {
      const found = []
      for (let each = await next(); each; each = await next()) found.push(each)
      return found
    },
    cancel: () => reader.cancel(),
  }
}

function field(lines: string[], name: string): string | undefined {
  return lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
}

/** Returns a request of an earlier revision. */
export function request(method: string, params: object = {}, id: string | number = 1): object {
  return { jsonrpc: '2.0', id, method, params }
}

/** Returns a call of a tool in an earlier revision. */
export function toolCall(name: string, input: object = {}, id: string | number = 1): object {
  return request('tools/call', { name, arguments: input }, id)
}

/** Returns a notification of an earlier revision. */
export function notification(method: string, params: object = {}): object {
  return { jsonrpc: '2.0', method, params }
}

/** Returns the `initialize` of a client with these capabilities. */
export function initialize(capabilities: object = {}): object {
  const clientInfo = { name: 'test', version: '1' }
  return request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo }, 0)
}

/** Sends a message, or with `undefined` a request without a body, to `endpoint` as the gate does. */
export async function sendMessage(
  endpoint: McpEndpoint,
  caller: SignedInCaller,
  message: unknown,
  given: {
    method?: string
    headers?: Record<string, string>
    signal?: AbortSignal
    calls?: IncomingCalls
  } = {},
): Promise<Response> {
  const sent = new Request('http://localhost/mcp', {
    method: given.method ?? 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...given.headers,
    },
    ...(given.signal && { signal: given.signal }),
  })
  return toResponse(await endpoint.handle(sent, message, caller, given.calls ?? callsSample(caller)))
}

/** {@link sendMessage} for a request of 2026-07-28. */
export function send2026(
  endpoint: McpEndpoint,
  caller: SignedInCaller,
  method: string,
  params: Record<string, unknown> = {},
  given: { capabilities?: Record<string, unknown>; signal?: AbortSignal; calls?: IncomingCalls } = {},
): Promise<Response> {
  const { capabilities = {}, ...rest } = given
  const { message, headers } = message2026(method, params, capabilities)
  return sendMessage(endpoint, caller, message, { headers, ...rest })
}

/** Returns a message of revision 2026-07-28 and its headers. */
export function message2026(
  method: string,
  params: Record<string, unknown> = {},
  capabilities: Record<string, unknown> = {},
): { message: unknown; headers: Record<string, string> } {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
  const { _meta, ...rest } = params
  const name = params['name'] ?? params['uri']
  return {
    message: { jsonrpc: '2.0', id: 1, method, params: { ...rest, _meta: { ...meta, ...(_meta as object) } } },
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
  }
}
