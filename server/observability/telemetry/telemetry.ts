import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { ServingContext } from '@drawbridge/shared/trace-context.ts'
import type { Metrics } from '../metrics.ts'

/** Reports a failed delivery to a collector. */
export type ReportFailure = (event: 'telemetry_failed', fields: Record<string, unknown>) => void

/** The parts of a request to an upstream that carry the trace on. */
export interface OutgoingMessage {
  headers: Readonly<Record<string, string>>
  body: string | undefined
  /** True for a stream of notifications, which lasts longer than a span should. */
  mayBeSilent: boolean
}

/** The beginning of an answer. */
export interface OutgoingAnswer {
  statusCode: number
  body: { once(event: 'close', listener: () => void): unknown }
}

/** Spans, metrics and audit records of the server for an OpenTelemetry collector. Holds no arguments, results or secrets. */
export interface Telemetry extends Pick<Metrics, 'storeCall' | 'outgoingCall'> {
  /** Makes the SERVER span of a request to `/mcp` around `handle`. */
  serve<Context extends ServingContext>(
    request: Request,
    context: Context,
    handle: (context: Context) => Promise<Reply> | Reply,
  ): Promise<Reply>
  /**
   * Begins the CLIENT span of a request to the upstream and returns the request with its context; `answered` is called when the answer
   * began, or without one.
   */
  upstream<Sent extends OutgoingMessage>(
    sent: Sent,
  ): { request: Sent; answered: (answer: OutgoingAnswer | undefined) => void }
  /** Sends a line of the audit trail as a log record. */
  write(line: string): void
  /** Sends the rest. Resolves with false if that takes longer than a second and a half: then it is lost. */
  close(): Promise<boolean>
}
