import type { Authorization, Refusal, RefusalOutcome } from '../http/authorization.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** How one message is sent. */
export interface SendOptions {
  /** Ends the exchange: the client does not want the answer any more. In the era of 2026-07-28 that is what cancels it. */
  signal?: AbortSignal
  /** `Mcp-Param-*` headers of the call (2026-07-28), by their whole name, already encoded. */
  parameterHeaders?: Readonly<Record<string, string>>
  /**
   * Takes each message that comes back for this one, in order; the response is the last. While the promise is pending
   * nothing more is read from the connection.
   */
  deliver(message: WireMessage): void | Promise<void>
}

/** One way to a server, in one era. Knows HTTP, sessions and streams, and neither stdio nor the other era. */
export interface RemoteLeg {
  /**
   * Sends one message. Resolves when the exchange is over: the response to a request was delivered, or a notification or
   * response was accepted. Rejects with {@link RemoteError} or `NetworkError`, without having delivered a response.
   */
  send(message: WireMessage, options: SendOptions): Promise<void>
  /** Ends the session, if any, within `graceMs`, and every connection. Never rejects. */
  close(graceMs: number): Promise<void>
}

/** A leg that keeps a stream open. */
export interface StreamingLeg extends RemoteLeg {
  /**
   * Opens the stream again, because its connection may be dead without a sign of it. `answered`: the server has just answered
   * a request on another connection.
   */
  reopen(answered: boolean): void
}

/** What a leg needs from outside. */
export interface RemoteLegPorts {
  authorization(signal?: AbortSignal): Promise<Authorization | undefined>
  refused(refusal: Refusal): Promise<RefusalOutcome>
  /** Messages that belong to no request of ours: they come on the standing stream. */
  unsolicited(message: WireMessage): void | Promise<void>
  /** Of what goes on, for a person who debugs. Never with a header, a body, a path or a query in it. */
  note(text: string): void
}

/** Why an exchange brought no response. */
export type RemoteFault =
  /** 401 or 403 that only a person can end. */
  | 'sign_in_needed'
  | 'forbidden'
  /** 404, 405 and the like: there is no such endpoint. */
  | 'not_found'
  /** The stream ended before the response, and could not be resumed. */
  | 'lost'
  | 'rate_limited'
  | 'unavailable'
  /** 2xx with something that is no MCP. */
  | 'no_mcp'
  /** A 4xx that is none of these; `response` may hold what the server said as JSON-RPC. */
  | 'refused'
  | 'too_large'

/** The server answered, but not with a response. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError'
  readonly fault: RemoteFault
  readonly status: number | undefined
  readonly retryAfterSeconds: number | undefined
  /** The JSON-RPC error that the body of a 4xx was. */
  readonly response: WireMessage | undefined

  constructor(
    fault: RemoteFault,
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
