const lineFeed = 0x0a
const carriageReturn = 0x0d

export interface LineSplitterPorts {
  /** Receives each line, without its end (LF or CRLF). */
  line(bytes: Uint8Array): void
  /** Receives the first and last bytes of a line that is too long, at its end. */
  tooLong(head: Uint8Array, tail: Uint8Array): void
}

const edgeBytes = 256

/** Cuts a stream of bytes into lines. */
export class LineSplitter {
  readonly #maxBytes: number
  readonly #ports: LineSplitterPorts
  #parts: Uint8Array[] = []
  #length = 0
  /** The kept parts of a line that is too long. */
  #skipped: { head: Uint8Array; tail: Uint8Array } | undefined

  constructor(maxBytes: number, ports: LineSplitterPorts) {
    this.#maxBytes = maxBytes
    this.#ports = ports
  }

  push(chunk: Uint8Array): void {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      this.#keep(chunk.subarray(start, end))
      this.#endLine()
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
  }

  /** Ends the stream: the rest after the last line end is a line, too. */
  end(): void {
    this.#endLine()
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return
    if (this.#skipped) this.#skipped.tail = lastOf(this.#skipped.tail, part)
    else this.#parts.push(part)
    this.#length += part.length
    if (this.#skipped || this.#length <= this.#maxBytes) return
    const bytes = joined(this.#parts, this.#length)
    this.#skipped = { head: bytes.slice(0, edgeBytes), tail: bytes.slice(-edgeBytes) }
    this.#clear()
  }

  #endLine(): void {
    const bytes = joined(this.#parts, this.#length)
    const skipped = this.#skipped
    this.#clear()
    this.#skipped = undefined
    if (skipped) this.#ports.tooLong(skipped.head, skipped.tail)
    else this.#ports.line(bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes)
  }

  #clear(): void {
    this.#parts = []
    this.#length = 0
  }
}

function lastOf(tail: Uint8Array, part: Uint8Array): Uint8Array {
  return joined([tail, part.slice(-edgeBytes)], tail.length + Math.min(part.length, edgeBytes)).slice(
    -edgeBytes,
  )
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = parts
  if (first && parts.length === 1) return first
  const bytes = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
