import { createByteList } from '../transport/byte-list.ts'

/** Cuts a stream of bytes into lines. */
export interface LineSplitter {
  /**
   * Takes a chunk, and gives each line that ends in it, without the line end. A line that is longer than allowed is reported
   * once and skipped to its end.
   */
  push(chunk: Buffer, line: (bytes: Buffer) => void, tooLong: () => void): void
  /** What came after the last line end, once. */
  rest(): Buffer
}

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Lines end with LF or CRLF. Each byte is looked at once and copied at most once, however many chunks a line comes in. */
export function createLineSplitter(mostBytes: number): LineSplitter {
  const parts = createByteList()
  let skipping = false

  function keep(part: Buffer, tooLong: () => void): void {
    if (skipping || part.length === 0) return
    if (parts.length + part.length > mostBytes) {
      parts.take()
      skipping = true
      tooLong()
      return
    }
    parts.push(part)
  }

  function take(): Buffer {
    const bytes = parts.take()
    return bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes
  }

  return {
    push(chunk, line, tooLong) {
      let start = 0
      for (;;) {
        const end = chunk.indexOf(lineFeed, start)
        keep(chunk.subarray(start, end === -1 ? chunk.length : end), tooLong)
        if (end === -1) return
        if (!skipping) line(take())
        skipping = false
        start = end + 1
      }
    },
    rest: take,
  }
}
