/** A connected socket of `node:net`, as far as it is used here. */
interface Socket {
  readonly bytesWritten: number
  prependListener(event: 'readable', listener: () => void): unknown
  read(): Uint8Array | null
  unshift(chunk: Uint8Array): void
}

/** Longer than the head of any interim response; more is left as it is. */
const maxHeadBytes = 16_384
const latin1 = new TextDecoder('latin1')
const statusLines = ['HTTP/1.1 1', 'HTTP/1.0 1']

/** The diagnostics channel by which undici hands out each socket once it is connected, before anything is read from it. */
export const undiciConnected = 'undici:client:connected'

/**
 * Takes interim responses out of an HTTP/1.1 connection before undici reads them; to be subscribed to {@link undiciConnected}. Servers and
 * proxies send them unasked, and a client may ignore them (RFC 9110 section 15.2), but undici ends the connection at a 100.
 */
export function skipInterim(message: unknown): void {
  const { socket } = message as { socket: Socket }
  let written = 0
  let isAtStart = false
  let held: Uint8Array = new Uint8Array()
  socket.prependListener('readable', () => {
    // A response begins with what comes first after a request.
    if (socket.bytesWritten !== written) isAtStart = true
    written = socket.bytesWritten
    const chunk = isAtStart ? socket.read() : null
    if (chunk === null) return
    held = held.length === 0 ? chunk : joined(held, chunk)
    for (let length = interimLength(held); length !== 0; length = interimLength(held)) {
      if (length === undefined && held.length < maxHeadBytes) return
      if (length === undefined) break
      held = held.subarray(length)
    }
    isAtStart = false
    const rest = held
    held = new Uint8Array()
    socket.unshift(rest)
  })
}

/** The length of the interim response that the bytes begin with: 0 for any other response, undefined until that is known. */
function interimLength(bytes: Uint8Array): number | undefined {
  const start = latin1.decode(bytes.subarray(0, 12))
  // 101 ends the use of HTTP: whatever follows is not a response.
  if (!statusLines.some((line) => line.startsWith(start.slice(0, 10))) || start.endsWith('101')) return 0
  const end = /\r?\n\r?\n/.exec(latin1.decode(bytes.subarray(0, maxHeadBytes)))
  return end ? end.index + end[0].length : undefined
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}
