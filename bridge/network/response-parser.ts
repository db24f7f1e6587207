import type { HttpResponse } from './http-client.ts'
import { checkTrailer, ResponseSyntaxError, readResponseHead, type BodyLength } from './response-head.ts'

/** What is told of a response while it is read. */
export interface ResponseReader {
  /**
   * Its final head. Interim ones (RFC 9110 section 15.2) are passed over. `length`: how many bytes its body has; undefined when
   * that is not known.
   */
  onHead(status: number, headers: HttpResponse['headers'], length: number | undefined): void
  /** Some of its body, never empty: parts of what was read, which are to be copied before this returns. */
  onBody(pieces: readonly Buffer[]): void
}

/** Bounds the head of a response; MCP servers behind single sign-on send kilobytes of cookies. */
const mostHeadBytes = 131_072
/** Bounds the line before a chunk: its size, and extensions that nobody uses. */
const mostLineBytes = 4096
const lineEnd = '\r\n'
const headEnd = '\r\n\r\n'

/** What the next bytes are. Of `sized` and `chunk` there are `#left`; `endless` goes to the end of the connection. */
type Part = 'head' | 'sized' | 'endless' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'nothing'

/**
 * Reads the responses of one HTTP/1 connection, one after another, however their bytes are cut (RFC 9112 sections 4 to 7).
 * As strict as a client needs to be that shares its connection with nobody: every line ends in CRLF, lines are not folded,
 * and a response whose length can be understood in two ways is refused. Chunk extensions and trailers must be well-formed and
 * are dropped. Not looked at: what headers say beyond the length of the message and the life of the connection, and a reason
 * phrase.
 */
export class ResponseParser {
  readonly #reader: ResponseReader
  #part: Part = 'nothing'
  #isHead = false
  #left = 0
  #trailer = ''
  /** Of the body, in what is read now: handed on together, as a server may send chunks of a byte each. */
  #pieces: Buffer[] = []
  /** Bytes of a line or head that is not whole, in room that doubles: one by one they would be copied over and over. */
  #held: Buffer = noBytes
  #heldLength = 0
  #persistent = false
  #idleSeconds = Infinity

  constructor(reader: ResponseReader) {
    this.#reader = reader
  }

  /** The next bytes are of the response to a request with that method. */
  begin(method: string): void {
    this.#part = 'head'
    this.#isHead = method === 'HEAD'
    this.#heldLength = 0
  }

  /** Whether the server keeps the connection after this response (RFC 9112 section 9.3). Known from the head on. */
  get persistent(): boolean {
    return this.#persistent
  }

  /** For how long the server keeps it without a request, as its `Keep-Alive` header says; Infinity without one. */
  get idleSeconds(): number {
    return this.#idleSeconds
  }

  /**
   * Reads what came. How many of these bytes are behind the end of the response; -1 while it has no end. Throws
   * {@link ResponseSyntaxError}, after which nothing more can be read.
   */
  read(bytes: Buffer): number {
    let at = 0
    while (at < bytes.length && this.#part !== 'nothing') at = this.#readPart(bytes, at)
    if (this.#pieces.length > 0) {
      this.#reader.onBody(this.#pieces)
      this.#pieces = []
    }
    return this.#part === 'nothing' ? bytes.length - at : -1
  }

  /** Where the next part begins. */
  #readPart(bytes: Buffer, at: number): number {
    switch (this.#part) {
      case 'head':
        return this.#readHead(bytes, at)
      case 'sized':
      case 'endless':
      case 'chunk': {
        const piece = this.#take(bytes, at)
        this.#pieces.push(piece)
        if (this.#left === 0) this.#part = this.#part === 'chunk' ? 'chunk-end' : 'nothing'
        return at + piece.length
      }
      default:
        return this.#readChunkLine(bytes, at)
    }
  }

  /** What there is of the bytes that are left. */
  #take(bytes: Buffer, at: number): Buffer {
    const end = Math.min(bytes.length, at + this.#left)
    this.#left -= end - at
    return at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end)
  }

  /** The connection has ended. Whether the response ends with that, and is whole. */
  finish(): boolean {
    if (this.#part !== 'endless') return false
    this.#part = 'nothing'
    return true
  }

  #readHead(bytes: Buffer, from: number): number {
    let at = from
    // Empty lines before a response are the leavings of the one before (RFC 9112 section 2.2 allows as much for requests).
    if (this.#heldLength === 0) while (bytes[at] === cr || bytes[at] === lf) at += 1
    if (at === bytes.length) return at
    if (this.#heldLength === 0) {
      const end = bytes.indexOf(headEnd, at, 'latin1')
      if (end !== -1 && end - at <= mostHeadBytes) {
        this.#takeHead(bytes.toString('latin1', at, end + lineEnd.length))
        return end + headEnd.length
      }
    }
    const searched = Math.max(0, this.#heldLength - headEnd.length + 1)
    const before = this.#heldLength
    this.#hold(bytes, at, Math.min(bytes.length, at + mostHeadBytes + headEnd.length - before))
    const held = this.#held.subarray(0, this.#heldLength)
    checkBeginning(held)
    const end = held.indexOf(headEnd, searched, 'latin1')
    if (end === -1) {
      if (this.#heldLength >= mostHeadBytes + headEnd.length)
        throw new ResponseSyntaxError('HTTP_HEAD_TOO_LARGE', 'the head has no end')
      return bytes.length
    }
    this.#heldLength = 0
    this.#takeHead(held.toString('latin1', 0, end + lineEnd.length))
    return at + end + headEnd.length - before
  }

  #hold(bytes: Buffer, from: number, to: number): void {
    const length = this.#heldLength + to - from
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(1024, 2 ** Math.ceil(Math.log2(length))))
      this.#held.copy(larger, 0, 0, this.#heldLength)
      this.#held = larger
    }
    bytes.copy(this.#held, this.#heldLength, from, to)
    this.#heldLength = length
  }

  #takeHead(text: string): void {
    const { status, headers, length, isPersistent, idleSeconds } = readResponseHead(text)
    if (status < 200 && status !== 101) return
    this.#frame(status, length)
    this.#persistent = this.#part !== 'endless' && isPersistent
    this.#idleSeconds = idleSeconds
    const isSized = this.#part === 'sized' || this.#part === 'nothing'
    this.#reader.onHead(status, headers, isSized ? this.#left : undefined)
  }

  #frame(status: number, length: BodyLength): void {
    if (this.#isHead || isBodiless(status)) this.#expect('nothing', 0)
    else if (length === 'chunked') this.#expect('chunk-size', 0)
    else if (length === Infinity) this.#expect('endless', length)
    else this.#expect(length === 0 ? 'nothing' : 'sized', length)
  }

  #expect(part: Part, left: number): void {
    this.#part = part
    this.#left = left
  }

  /** The line that ends a chunk, that with the size of the next one, or one of a trailer. */
  #readChunkLine(bytes: Buffer, from: number): number {
    const lineFeed = bytes.indexOf(lf, from)
    const to = lineFeed === -1 ? bytes.length : lineFeed + 1
    let line: string
    if (this.#heldLength === 0 && lineFeed !== -1) line = bytes.toString('latin1', from, to)
    else {
      if (this.#heldLength + to - from > mostLineBytes)
        throw new ResponseSyntaxError('HTTP_CHUNK', 'a line between chunks has no end')
      this.#hold(bytes, from, to)
      if (lineFeed === -1) {
        // What is no size now will not become one.
        if (this.#part === 'chunk-size')
          checkSizeBeginning(this.#held.toString('latin1', 0, this.#heldLength))
        return to
      }
      line = this.#held.toString('latin1', 0, this.#heldLength)
      this.#heldLength = 0
    }
    if (!line.endsWith(lineEnd) || line.length > mostLineBytes)
      throw new ResponseSyntaxError('HTTP_CHUNK', 'a line between chunks does not end as it should')
    this.#takeChunkLine(line.slice(0, -lineEnd.length))
    return to
  }

  #takeChunkLine(line: string): void {
    if (this.#part === 'chunk-end') {
      if (line !== '') throw new ResponseSyntaxError('HTTP_CHUNK', 'a chunk is longer than its size')
      this.#part = 'chunk-size'
    } else if (this.#part === 'trailer') {
      this.#left -= line.length
      if (this.#left < 0) throw new ResponseSyntaxError('HTTP_HEAD_TOO_LARGE', 'the trailer has no end')
      if (line !== '') this.#trailer += line + lineEnd
      else {
        checkTrailer(this.#trailer)
        this.#trailer = ''
        this.#part = 'nothing'
      }
    } else {
      this.#left = readSize(line)
      this.#part = 'chunk'
      if (this.#left > 0) return
      this.#part = 'trailer'
      this.#left = mostHeadBytes
    }
  }
}

const noBytes = Buffer.alloc(0)
const cr = 13
const lf = 10

/** A server of another protocol may say something and wait: it is known by its first bytes, not when the time is up. */
function checkBeginning(bytes: Buffer): void {
  const beginning = bytes.toString('latin1', 0, 7)
  if (!'HTTP/1.'.startsWith(beginning))
    throw new ResponseSyntaxError('HTTP_STATUS_LINE', 'there is no status line')
}

function isBodiless(status: number): boolean {
  return status === 101 || status === 204 || status === 304
}

// RFC 9112 section 7.1.1, without the optional space, which no server in use sends and Node refuses.
const sizeLine =
  /^([0-9a-f]{1,12})(?:;[!#$%&'*+\-.^_`|~\w]+(?:=(?:[!#$%&'*+\-.^_`|~\w]+|"(?:[\t\x20-\x21\x23-\x5b\x5d-\x7e]|\\[\t\x20-\x7e])*"))?)*$/i

/** The size that a line begins with. Throws {@link ResponseSyntaxError} unless what follows is chunk extensions. */
function readSize(line: string): number {
  const [, size] = sizeLine.exec(line) ?? []
  if (size === undefined) throw new ResponseSyntaxError('HTTP_CHUNK', 'a chunk has no size')
  return Number.parseInt(size, 16)
}

/** Throws {@link ResponseSyntaxError} when a line that is cut off cannot begin with a size. */
function checkSizeBeginning(beginning: string): void {
  if (!/^[0-9a-f]{1,12}(?:;|\r?$)/i.test(beginning))
    throw new ResponseSyntaxError('HTTP_CHUNK', 'a chunk has no size')
}
