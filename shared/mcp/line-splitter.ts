const lineFeed = 0x0a
const carriageReturn = 0x0d

/** What happens to the lines. */
export interface LineSplitterPorts {
  /** Takes each line, without its end (LF or CRLF). */
  line(bytes: Uint8Array): void
  /** A line is longer than allowed. Called once; the line is skipped to its end. */
  tooLong(): void
}

/** Cuts a stream of bytes into lines. */
export class LineSplitter {
  readonly #maxBytes: number
  readonly #ports: LineSplitterPorts
  #parts: Uint8Array[] = []
  #length = 0
  #isSkipping = false

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

  /** The stream has ended: what came after the last line end is a line too. */
  end(): void {
    this.#endLine()
  }

  #keep(part: Uint8Array): void {
    if (this.#isSkipping || part.length === 0) return
    this.#parts.push(part)
    this.#length += part.length
    if (this.#length <= this.#maxBytes) return
    this.#isSkipping = true
    this.#clear()
    this.#ports.tooLong()
  }

  #endLine(): void {
    const bytes = joined(this.#parts, this.#length)
    this.#clear()
    if (!this.#isSkipping) this.#ports.line(bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes)
    this.#isSkipping = false
  }

  #clear(): void {
    this.#parts = []
    this.#length = 0
  }
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
