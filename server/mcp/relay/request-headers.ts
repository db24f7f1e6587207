import type { HttpUpstream } from '../../core/gateway/upstream.ts'

/** Of the client's headers only these go on, and those that the upstream's document names: no credential, no identity, no hop. */
const passed =
  /^(?:accept|content-type|last-event-id|traceparent|tracestate|baggage|mcp-(?!session-id$)[a-z0-9-]+)$/

/** What the headers of a request to the upstream are made of. A later one replaces an earlier one of the same name. */
export interface RequestHeaderParts {
  upstream: Pick<HttpUpstream, 'headers' | 'forward'>
  /** Those that say who calls. */
  identity: Readonly<Record<string, string>>
  /** The upstream's own id of the session. */
  sessionId: string | undefined
}

/** The headers of a request to the upstream. */
export function requestHeaders(
  given: Headers,
  { upstream, identity, sessionId }: RequestHeaderParts,
): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of given) {
    if (passed.test(name) || upstream.forward.includes(name)) headers[name] = value
  }
  return {
    ...headers,
    ...upstream.headers,
    ...identity,
    ...(sessionId !== undefined && { 'mcp-session-id': sessionId }),
  }
}
