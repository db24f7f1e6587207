import type { WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Context } from '@drawbridge/shared/mcp/pipeline.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { NetworkError, type Refusal, type RefusalOutcome, type HttpClient } from '../http/http-client.ts'

/** The context inside a transport. Closing the transport aborts its signal, too. */
export type Sending = Context & { readonly signal: AbortSignal }

/** A connection to a server in one revision. Knows HTTP, sessions and streams, but neither stdio nor the other revision. */
export interface Transport {
  /** Rejects with {@link TransportError} or `NetworkError`, without having delivered a response. */
  send(message: WireMessage, context: Context): Promise<void>
  /** Ends the session, if any, within `graceMs`, and all connections. May be called repeatedly. Never rejects. */
  close(graceMs: number): Promise<void>
}

export interface StreamingTransport extends Transport {
  /** Opens the stream again. `answered`: the server has just answered a request on another connection. */
  reopen(answered: boolean): void
}

export interface TransportConfig {
  serverUrl: string
  /** Sent with every request to the server, never to an authorization server. The protocol's own headers win. */
  headers: Readonly<Record<string, string>>
  /** How long one message is retried, in milliseconds. */
  retryMs: number
}

/** The HTTP client stays open when a transport is closed. */
export interface TransportPorts {
  http: HttpClient
  runtime: Pick<Runtime, 'now' | 'sleep' | 'randomBytes'>
  /** `tokens` is replaced once the login has been loaded. */
  login: {
    readonly tokens: {
      authorization(signal?: AbortSignal): Promise<string | undefined>
      refused(refusal: Refusal): Promise<RefusalOutcome>
    }
  }
  /** Receives messages that belong to no request, from the GET stream. */
  unsolicited(message: WireMessage): void | Promise<void>
  /** Receives the results of `initialize`, `server/discover` and `tools/list`. */
  answered(kind: 'http' | 'sse', request: WireMessage, answer: WireMessage): void
  /** Logs for debugging. Never contains a header, a body, a path or a query. */
  note(text: string): void
}

export type TransportFault =
  /** 401 or 403 that only a sign-in resolves. */
  | 'sign_in_needed'
  | 'forbidden'
  /** A service in front of the server requires a browser. */
  | 'blocked'
  /** 404, 405 and the like: no such endpoint. */
  | 'not_found'
  /** The stream ended before the response and could not be resumed. */
  | 'lost'
  | 'rate_limited'
  | 'unavailable'
  /** 2xx with a body that is not MCP. */
  | 'no_mcp'
  /** Any other 4xx; `response` may hold the server's JSON-RPC error. */
  | 'refused'
  | 'too_large'

/** The server answered without a JSON-RPC response. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly fault: TransportFault
  readonly status: number | undefined
  readonly retryAfterSeconds: number | undefined
  readonly response: WireMessage | undefined

  constructor(
    fault: TransportFault,
    message: string,
    options: {
      status?: number | undefined
      retryAfterSeconds?: number | undefined
      response?: WireMessage | undefined
      cause?: unknown
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.fault = fault
    this.status = options.status
    this.retryAfterSeconds = options.retryAfterSeconds
    this.response = options.response
  }
}

export function lostError(cause?: unknown): TransportError {
  return new TransportError('lost', 'The connection ended before the answer was there.', { cause })
}

export function answerTooLarge(): TransportError {
  return new TransportError('too_large', 'An answer of the server is larger than 64 MB.')
}

/** The error for a 2xx with `what` as its body. */
export function noMcp(status: number, what: string): TransportError {
  const message = `The server answered ${what}: it does not seem to be an MCP endpoint.`
  return new TransportError('no_mcp', message, { status })
}

/** Returns whether a response began and broke off. A retry does not help against silence or invalid HTTP. */
export function isCutOff(error: unknown): boolean {
  if (error instanceof NetworkError) return error.fault === 'reset'
  return error instanceof TransportError && error.fault === 'lost'
}
