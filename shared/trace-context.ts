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
