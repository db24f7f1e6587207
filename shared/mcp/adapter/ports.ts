import type { JsonObject } from '../../json-object.ts'
import type { Runtime } from '../../runtime.ts'
import type {
  JsonRpcErrorObject,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
} from '../json-rpc.ts'

export interface AdapterPorts {
  /** Sends the client a notification that belongs to no call. Resolves when there is room for the next one. Never rejects. */
  notify(notification: JsonRpcNotification): Promise<void>
  server: Server2026
  /** The result of `server/discover`, if it is known already. */
  discovered?: JsonObject
  runtime: AdapterRuntime
}

/** An adapter has no network of its own: messages go through the ports. */
export type AdapterRuntime = Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>

/** One request of the client. */
export interface ClientCall {
  readonly request: JsonRpcRequest
  /** Aborted when the client cancels, and on close. */
  readonly signal: AbortSignal
  /** Sends a message that belongs to this call; nothing is sent once it is over. */
  deliver(message: JsonRpcMessage): Promise<void>
}

export type DescribeFailure = (error: unknown) => JsonRpcErrorObject

export interface RequestOptions {
  signal?: AbortSignal
  /** Receives the messages before the response, in order. */
  onMessage?(message: JsonRpcMessage): void | Promise<void>
}

/**
 * A 2026-07-28 server. Requests already carry `_meta`; the transport adds headers, hides tools with faulty header declarations, and
 * repeats a request refused for a header or a version. Rejects if there is no response.
 */
export interface Server2026 {
  request(message: JsonRpcRequest, options?: RequestOptions): Promise<JsonRpcResponse>
  /** Returns the JSON-RPC error in the body of a 4xx; undefined for any other failure. */
  errorResponse(failure: unknown): JsonRpcResponse | undefined
}
