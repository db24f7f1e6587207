import type { JsonObject } from '../../json-object.ts'
import type { Runtime } from '../../runtime.ts'
import type {
  JsonRpcErrorObject,
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
} from '../json-rpc.ts'

/** Connects a client of one revision to a server of the other. One per client. */
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
  describeFailure: DescribeFailure
  runtime: AdapterRuntime
}

/** An adapter has no network of its own: messages go through the ports. */
export type AdapterRuntime = Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>

export interface ClientPort {
  /**
   * Sends it a message. `relatedTo` is the id of the call that a notification or a request belongs to. Resolves when there is room for
   * the next one.
   */
  send(message: JsonRpcMessage, relatedTo?: JsonRpcId): Promise<void>
}

export type DescribeFailure = (error: unknown) => JsonRpcErrorObject

export interface RequestOptions {
  signal?: AbortSignal
  /** Receives what comes before the response, in order. */
  onMessage?(message: JsonRpcMessage): void | Promise<void>
}

/** Tells a JSON-RPC error that arrived with an HTTP error status from a failed transport. */
export interface ErrorResponses {
  /** The JSON-RPC error in the body of a 4xx; undefined for any other failure. */
  errorResponse(failure: unknown): JsonRpcResponse | undefined
}

/**
 * A 2026-07-28 server. Requests already carry `_meta`; the transport adds its headers, hides tools whose headers
 * cannot be made, and sends again what was refused for a header or a version. Rejects when there is no response.
 */
export interface Server2026 extends ErrorResponses {
  request(message: JsonRpcRequest, options?: RequestOptions): Promise<JsonRpcResponse>
}

/** A session with a 2025 server. The transport keeps it alive: it reopens lost sessions and resumes streams. */
export interface Session2025 {
  initialized: JsonObject
  request(message: JsonRpcRequest, options?: RequestOptions): Promise<JsonRpcResponse>
  notify(message: JsonRpcNotification): Promise<void>
  /** Responds to a request of the server. */
  answer(message: JsonRpcResponse): Promise<void>
  close(): Promise<void>
}

export interface Server2025 extends ErrorResponses {
  /**
   * Opens a session: sends `initialize` with these parameters and `notifications/initialized`. `onMessage` receives what comes
   * on the GET stream. Rejects when the server refuses or cannot be reached.
   */
  open(
    initializeParams: JsonObject,
    onMessage: (message: JsonRpcMessage) => void | Promise<void>,
  ): Promise<Session2025>
}
