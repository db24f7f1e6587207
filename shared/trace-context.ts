/**
 * Returns the trace id of a `traceparent` (W3C Trace Context 3.2); undefined for anything else. Ignores members added
 * by later versions.
 */
export function traceIdOf(traceparent: unknown): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  const [, version, traceId, parentId] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(?:$|-)/.exec(traceparent) ?? []
  const isValid = version !== 'ff' && /[^0]/.test(traceId ?? '') && /[^0]/.test(parentId ?? '')
  return isValid ? traceId : undefined
}

/** A message or batch that is served; `traceparent` is what its `_meta` says. */
export interface TracedMessage {
  message: unknown
  traceparent: unknown
  revision: string | undefined
  sub: string | undefined
}

/** The parts of a request's context that a trace reads along. */
export interface ServingContext {
  id: string
  report: (event: string, fields?: Record<string, unknown>) => void
  /**
   * Sets the trace of a message in the request, for all later log lines, once it is read and its caller is known. Returns the message for
   * those who serve it: the same, or one with the context of this server's own span.
   */
  trace?: (incoming: TracedMessage) => unknown
  /** Called once when no call of the request is in progress any more: of a stream, at its end. */
  callsOver?: () => void
}
