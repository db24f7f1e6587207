import type { JsonObject } from '../../json-object.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest, JsonRpcResponse } from '../json-rpc.ts'

/** The local client, as a translator sees it. */
export interface LocalPeer {
  /** Writes a message to it. Resolves when there is room for the next one. */
  send(message: JsonRpcMessage): Promise<void>
}

/** How a translator asks the server. */
export interface AskOptions {
  signal?: AbortSignal
  /** What comes before the response, in order. */
  onMessage?(message: JsonRpcMessage): void | Promise<void>
}

/** Tells a JSON-RPC error that arrived with an HTTP error status from a failed transport. */
export interface ErrorResponses {
  /** The JSON-RPC error in the body of a 4xx; undefined for any other failure. */
  errorResponse(failure: unknown): JsonRpcResponse | undefined
}

/**
 * The server in the era of 2026-07-28. Requests carry `_meta` already; the transport adds its headers, hides tools whose headers
 * cannot be made, and sends again what was refused for a header or a version. Rejects with `TransportError` or `NetworkError`.
 */
export interface ModernServer extends ErrorResponses {
  request(message: JsonRpcRequest, options?: AskOptions): Promise<JsonRpcResponse>
}

/** A session of a server of the 2025 era. The transport keeps it alive: lost sessions are made anew, streams are resumed. */
export interface LegacySession {
  /** Result of `initialize`. */
  initialized: JsonObject
  request(message: JsonRpcRequest, options?: AskOptions): Promise<JsonRpcResponse>
  notify(message: JsonRpcNotification): Promise<void>
  /** Answers a request of the server. */
  answer(message: JsonRpcResponse): Promise<void>
  close(): Promise<void>
}

/** The server in the 2025 era. */
export interface LegacyServer extends ErrorResponses {
  /**
   * Opens a session: sends `initialize` with these parameters and `notifications/initialized`. `onMessage` gets what comes
   * on the standing stream. Rejects with `TransportError` or `NetworkError`.
   */
  open(
    initializeParams: JsonObject,
    onMessage: (message: JsonRpcMessage) => void | Promise<void>,
  ): Promise<LegacySession>
}

/** Lets a client of one era talk to a server of the other. One for all of a connection. */
export interface Translator {
  /** Takes one message of the local client. Answers it, sooner or later, through {@link LocalPeer}; never rejects. */
  take(message: JsonRpcMessage): Promise<void>
  /** Opens the streams again that it keeps open itself: their connection may be dead without a sign of it. */
  reopen(): void
  /** Ends whatever is open. Never rejects. */
  close(): Promise<void>
}

/** What a translator tells a client about a failed exchange: `TransportError` and the like become the error of a response. */
export type DescribeFailure = (error: unknown) => { code: number; message: string; data?: unknown }
