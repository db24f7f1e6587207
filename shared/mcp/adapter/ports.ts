import type { JsonObject } from '../../json-object.ts'
import type { Runtime } from '../../runtime.ts'
import type {
  JsonRpcErrorObject,
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcRequest,
  JsonRpcResponse,
} from '../json-rpc.ts'

/** Connects a 2025 client to a server of 2026-07-28. One per client. */
export interface Adapter {
  /** Takes one message from the client and returns at once. The response is sent later, through {@link ClientPort}. Never rejects. */
  receive(message: JsonRpcMessage): Promise<void>
  /** Reopens the streams that the adapter keeps open: their connection may be dead unnoticed. */
  reopen(): void
  /** Ends all calls and streams. Never rejects. */
  close(): Promise<void>
}

export interface AdapterPorts {
  client: ClientPort
  server: Server2026
  /** The result of `server/discover`, if it is known already. */
  discovered?: JsonObject
  describeFailure: DescribeFailure
  runtime: AdapterRuntime
}

/** An adapter has no network of its own: messages go through the ports. */
export type AdapterRuntime = Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>

export interface ClientPort {
  /**
   * Sends the client a message. `relatedTo`: the id of the call that a notification or request belongs to. Resolves when there is room
   * for the next one.
   */
  send(message: JsonRpcMessage, relatedTo?: JsonRpcId): Promise<void>
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
