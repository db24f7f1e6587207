import type { JsonObject } from '../../json-object.ts'
import type { Runtime } from '../../runtime.ts'
import type { JsonRpcErrorObject, JsonRpcMessage, JsonRpcNotification, JsonRpcRequest } from '../json-rpc.ts'

export interface AdapterPorts {
  /** Sends the client a notification that belongs to no call. Resolves when there is room for the next one. Never rejects. */
  notify(notification: JsonRpcNotification): Promise<void>
  request: RequestServer
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
 * Sends a request to the 2026-07-28 server and resolves with its result. `params` already has the `_meta` of that revision; the
 * transport adds headers, hides tools with faulty header declarations, and repeats a request refused for a header or a version.
 * Rejects with `CallError` for a JSON-RPC error, also one in the body of a 4xx.
 */
export type RequestServer = (method: string, params: JsonObject, options?: RequestOptions) => Promise<unknown>
