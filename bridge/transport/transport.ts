import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Authorization, Refusal, RefusalOutcome } from '../http/authorization.ts'
import type { HttpClient } from '../http/http-client.ts'

/** How one message is sent. */
export interface SendOptions {
  /** Ends the round trip: the client no longer wants the response. In 2026-07-28 this is what cancels the request. */
  signal?: AbortSignal
  /**
   * Takes each message that comes back for this one, in order; the response is the last. While the promise is pending
   * nothing more is read from the connection.
   */
  deliver(message: WireMessage): void | Promise<void>
}

/** Options inside a transport: there is always a signal, which closing the transport aborts too. */
export type Sending = SendOptions & { signal: AbortSignal }

/** One way to a server, in one revision. Knows HTTP, sessions and streams, but neither stdio nor the other revision. */
export interface Transport {
  /**
   * Sends one message. Resolves when the round trip is over: the response to a request was delivered, or a notification or
   * response was accepted. Rejects with {@link TransportError} or `NetworkError`, without having delivered a response.
   */
  send(message: WireMessage, options: SendOptions): Promise<void>
  /** Ends the session, if any, within `graceMs`, and every connection. Never rejects. */
  close(graceMs: number): Promise<void>
}

/** A transport that keeps a stream open. */
export interface StreamingTransport extends Transport {
  /**
   * Opens the stream again, because its connection may be dead without a sign of it. `answered`: the server has just answered
   * a request on another connection.
   */
  reopen(answered: boolean): void
}

/** What every transport is created with. */
export interface TransportConfig {
  /** The MCP endpoint. */
  serverUrl: string
  /** Sent with every request. Headers of the protocol itself win over them. */
  headers: Readonly<Record<string, string>>
  /** How long one message is retried, in milliseconds. */
  retryMs: number
}

/** What every transport needs from outside. The HTTP client stays open when a transport is closed. */
export interface TransportPorts {
  http: HttpClient
  runtime: Pick<Runtime, 'now' | 'sleep' | 'randomBytes'>
  authorization(signal?: AbortSignal): Promise<Authorization | undefined>
  refused(refusal: Refusal): Promise<RefusalOutcome>
  /** Messages that belong to no request: they come on the GET stream. */
  unsolicited(message: WireMessage): void | Promise<void>
  /** Logs for debugging. Never contains a header, a body, a path or a query. */
  note(text: string): void
}

/** Why a round trip brought no response. */
export type TransportFault =
  /** 401 or 403 that only a person can end. */
  | 'sign_in_needed'
  | 'forbidden'
  /** 404, 405 and the like: there is no such endpoint. */
  | 'not_found'
  /** The stream ended before the response, and could not be resumed. */
  | 'lost'
  | 'rate_limited'
  | 'unavailable'
  /** 2xx with something that is not MCP. */
  | 'no_mcp'
  /** Any other 4xx; `response` may hold what the server said as JSON-RPC. */
  | 'refused'
  | 'too_large'

/** The server answered, but not with a response. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
  readonly fault: TransportFault
  readonly status: number | undefined
  readonly retryAfterSeconds: number | undefined
  /** The JSON-RPC error in the body of a 4xx. */
  readonly response: WireMessage | undefined

  constructor(
    fault: TransportFault,
    message: string,
    options: {
      status?: number
      retryAfterSeconds?: number
      response?: WireMessage
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

/** The response is not coming any more. */
export function lostError(cause?: unknown): TransportError {
  return new TransportError('lost', 'The connection ended before the answer was there.', { cause })
}
