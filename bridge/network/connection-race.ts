/** What is known about a kept connection that ended before a single byte of the response. */
export interface EndedConnection {
  method: string
  /** Whether the whole request had been handed to the operating system. */
  written: boolean
  /** Milliseconds from the start of writing to the end of the connection. */
  afterMs: number
  /** The quickest handshake or answer of this origin so far, in milliseconds. */
  quickestTripMs: number | undefined
}

/**
 * Whether a request may go out again, unasked, on a new connection: servers close idle connections, and the request can
 * cross that on the way.
 *
 * - What changes nothing a second time by definition, GET, HEAD and DELETE, may.
 * - What was not written whole may: JSON that is cut off cannot be acted on.
 * - A POST may if the connection ended within half a round trip: a consequence of the request takes a whole one at
 *   least, so the end was on its way before the request arrived. The quickest handshake or answer stands for the round
 *   trip; it includes delays of this computer, hence only half of it, and nothing for servers that are a few
 *   milliseconds away.
 * - Any other POST may not. A server that was killed while it worked on `tools/call` looks just like one that closed an
 *   idle connection, and doing a call twice is worse than an error that says so (RFC 9110 section 9.2.2). Who knows the
 *   method inside can send a `tools/list` again.
 */
export function mayGoOutAgain(ended: EndedConnection): boolean {
  if (ended.method !== 'POST' || !ended.written) return true
  const half = (ended.quickestTripMs ?? 0) / 2
  return half >= smallestTellingMs && ended.afterMs < half
}

const smallestTellingMs = 2
