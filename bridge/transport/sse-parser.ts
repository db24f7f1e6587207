import { createByteList } from './byte-list.ts'

/** One event, or (with a `type` of `undefined`) an end of event that carried no data, only an id. */
export interface SseEvent {
  /** `message` unless the stream named another. */
  type: string | undefined
  /** The data lines, joined by line feeds. */
  data: Buffer
  /**
   * The last id that the stream has named so far, byte by byte as it came; undefined if there is none, or none that could go
   * back in a header.
   */
  id: string | undefined
}

/** Reads a stream of server-sent events from bytes. */
export interface SseParser {
  /** The events that the chunk completes. Throws {@link SseError} for an event that is too large; the parser is of no use then. */
  push(chunk: Buffer): SseEvent[]
  /** The last wait that the stream asked for before coming back, in milliseconds. */
  retryMs(): number | undefined
}

/** An event was larger than allowed. */
export class SseError extends Error {
  override readonly name = 'SseError'
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const noData = Buffer.alloc(0)
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * A parser after the HTML standard, section 9.2.6, except that an event without data still shows its id, for that is how a
 * server makes a stream resumable before its first message. `mostBytes` bounds one event. Data is not checked to be UTF-8.
 */
export function createSseParser(mostBytes: number): SseParser {
  const parts = createByteList()
  const data = createByteList()
  let hasData = false
  let type = ''
  let id: string | undefined
  let idIsNew = false
  let retry: number | undefined
  let isFirstLine = true
  let afterCarriageReturn = false

  function keep(part: Buffer): void {
    if (part.length === 0) return
    if (parts.length + part.length + data.length > mostBytes)
      throw new SseError(`An event is larger than ${mostBytes} bytes.`)
    parts.push(part)
  }

  function takeLine(): Buffer {
    const line = parts.take()
    if (!isFirstLine) return line
    isFirstLine = false
    return line.subarray(0, 3).equals(byteOrderMark) ? line.subarray(3) : line
  }

  function readField(line: Buffer): void {
    const colon = line.indexOf(0x3a)
    if (colon === 0) return
    const name = line.toString('latin1', 0, colon === -1 ? line.length : Math.min(colon, 6))
    const start = colon === -1 ? line.length : line[colon + 1] === 0x20 ? colon + 2 : colon + 1
    if (name === 'data') {
      // A buffer of its own: whoever takes the event may write into it.
      if (hasData) data.push(Buffer.from('\n'))
      data.push(line.subarray(start))
      hasData = true
    } else if (name === 'event') type = line.toString('utf8', start)
    else if (name === 'id') setId(line.toString('latin1', start))
    else if (name === 'retry') setRetry(line.toString('latin1', start))
  }

  function setId(value: string): void {
    if (value.includes('\0')) return
    id = isHeaderValue(value) ? value : undefined
    idIsNew = id !== undefined
  }

  function setRetry(value: string): void {
    if (/^\d{1,9}$/.test(value)) retry = Number(value)
  }

  function endEvent(events: SseEvent[]): void {
    if (hasData) events.push({ type: type || 'message', data: data.take(), id })
    else if (idIsNew) events.push({ type: undefined, data: noData, id })
    hasData = false
    type = ''
    idIsNew = false
  }

  /** A line feed that belongs to this carriage return may come with the next chunk. */
  function behindLineEnd(chunk: Buffer, end: number): number {
    if (chunk[end] === lineFeed) return end + 1
    afterCarriageReturn = end + 1 === chunk.length
    return chunk[end + 1] === lineFeed ? end + 2 : end + 1
  }

  return {
    push(chunk) {
      const events: SseEvent[] = []
      const nextEnd = createLineEndFinder(chunk)
      let start = afterCarriageReturn && chunk[0] === lineFeed ? 1 : 0
      if (chunk.length > 0) afterCarriageReturn = false
      for (;;) {
        const end = nextEnd(start)
        keep(chunk.subarray(start, end === -1 ? chunk.length : end))
        if (end === -1) return events
        const line = takeLine()
        if (line.length === 0) endEvent(events)
        else readField(line)
        start = behindLineEnd(chunk, end)
      }
    },
    retryMs: () => retry,
  }
}

/** Servers take heads of some kilobytes, and what is empty is no place in a stream. */
function isHeaderValue(bytes: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]{1,4096}$/.test(bytes)
}

/** Each kind of line end is searched for only as far as its next place: most streams use one kind alone. */
function createLineEndFinder(chunk: Buffer): (start: number) => number {
  let feed = chunk.indexOf(lineFeed)
  let carriage = chunk.indexOf(carriageReturn)
  return (start) => {
    if (feed !== -1 && feed < start) feed = chunk.indexOf(lineFeed, start)
    if (carriage !== -1 && carriage < start) carriage = chunk.indexOf(carriageReturn, start)
    return carriage === -1 || (feed !== -1 && feed < carriage) ? feed : carriage
  }
}
