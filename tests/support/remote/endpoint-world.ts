import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { RemoteCounters } from './remote-counters.ts'
import type { RemoteSettings } from './remote-settings.ts'

/** Who sent a request. */
export interface Caller {
  clientId: string
  scope: string
}

/** What the endpoints of both eras share. */
export interface EndpointWorld {
  settings: RemoteSettings
  counters: RemoteCounters
  extraTools: string[]
  /** Tells all clients of all eras. */
  broadcast(method: string, params: Record<string, unknown>): void
  /** Answers 403 and returns false if the message needs a scope that the caller lacks. */
  allows(caller: Caller, message: JsonRpcMessage, response: ServerResponse): boolean
}

/** One request that came past authorization and faults, its body read. */
export interface McpExchange {
  request: IncomingMessage
  response: ServerResponse
  caller: Caller
  /** The parsed body of a POST. */
  body: unknown
}

/** A header as one text. */
export function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name.toLowerCase()]
  return Array.isArray(value) ? value[0] : value
}
