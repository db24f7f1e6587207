import type { HttpResponse } from './http-client.ts'

/** What came is no response of HTTP/1. `code` says which part; the message holds nothing that was sent. */
export class ResponseSyntaxError extends Error {
  override readonly name = 'ResponseSyntaxError'
  readonly code: `HTTP_${string}`

  constructor(code: ResponseSyntaxError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** In bytes; Infinity goes to the end of the connection (RFC 9112 section 6.3). */
export type BodyLength = number | 'chunked'

/** What the head of a response says. */
export interface ResponseHead {
  status: number
  headers: HttpResponse['headers']
  /** Of a response that has a body. */
  length: BodyLength
  /** Whether the server keeps the connection (RFC 9112 section 9.3), if the length of the body allows it. */
  isPersistent: boolean
  /** For how long without a request, as its `Keep-Alive` header says; Infinity without one. */
  idleSeconds: number
}

/**
 * Reads a head, each line with its end, without the empty one behind it. Throws {@link ResponseSyntaxError}, also for an
 * interim response (RFC 9110 section 15.2) that announces a body: it cannot have one (RFC 9112 section 6.1).
 */
export function readResponseHead(text: string): ResponseHead {
  const [line, minor, code] = statusLine.exec(text) ?? []
  if (line === undefined) throw new ResponseSyntaxError('HTTP_STATUS_LINE', 'there is no status line')
  const status = Number(code)
  const headers = readHeaders(text, line.length)
  const isInterim = status < 200 && status !== 101
  if (isInterim) refuseFraming(headers, 'an interim response')
  return {
    status,
    headers,
    length: isInterim ? 0 : bodyLength(headers),
    isPersistent: isPersistent(minor === '1', headers),
    idleSeconds: idleSecondsOf(headers),
  }
}

/**
 * Reads the trailer of a chunked body, each line with its end, and drops it. Throws {@link ResponseSyntaxError} for lines that
 * are not headers, and for those that say how long a message is, which have no place there (RFC 9110 section 6.5.1).
 */
export function checkTrailer(text: string): void {
  refuseFraming(readHeaders(text, 0), 'a trailer')
}

function refuseFraming(headers: HttpResponse['headers'], where: string): void {
  if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined)
    throw new ResponseSyntaxError('HTTP_LENGTH', `${where} says how long a body is`)
}

const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?\r\n/
// Space around a value belongs to it here, so there is one way to match each line.
const fieldLines = /(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*/y
const digits = /^\d{1,15}$/
const closes = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/
const keeps = /(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)/
const idleTime = /(?:^|,)[ \t]*timeout=(\d{1,9})/i

/** Those from `start` on, by names in lower case; the values of a name that came twice joined, but cookies as a list. */
function readHeaders(text: string, start: number): HttpResponse['headers'] {
  fieldLines.lastIndex = start
  if (!fieldLines.test(text) || fieldLines.lastIndex !== text.length)
    throw new ResponseSyntaxError('HTTP_HEADER', 'a line of the head is no header')
  const headers: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>
  for (let at = start; at < text.length;) {
    const colon = text.indexOf(':', at)
    const end = text.indexOf('\r', colon)
    const key = text.slice(at, colon).toLowerCase()
    const value = withoutSpace(text, colon + 1, end)
    // Parsers differ on whether a tab belongs to the coding.
    if (key === 'transfer-encoding' && text.slice(colon, end).includes('\t'))
      throw new ResponseSyntaxError('HTTP_CODING', 'there is a tab beside the coding')
    const known = headers[key]
    if (Array.isArray(known)) known.push(value)
    else if (key === 'set-cookie') headers[key] = [value]
    else headers[key] = known === undefined ? value : `${known}, ${value}`
    at = end + 2
  }
  return headers
}

/** That part of a text, but for spaces and tabs around it. */
function withoutSpace(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isSpace(text.charCodeAt(start))) start += 1
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9
}

function bodyLength(headers: HttpResponse['headers']): BodyLength {
  const { 'transfer-encoding': codings, 'content-length': length } = headers
  const coding = typeof codings === 'string' ? codings.toLowerCase() : undefined
  if (length !== undefined) {
    if (coding !== undefined) throw new ResponseSyntaxError('HTTP_LENGTH', 'there are a length and a coding')
    if (typeof length !== 'string' || !digits.test(length))
      throw new ResponseSyntaxError('HTTP_LENGTH', 'the length is no number')
    return Number(length)
  }
  if (coding === undefined || coding === 'identity') return Infinity
  if (coding === 'chunked') return 'chunked'
  throw new ResponseSyntaxError('HTTP_CODING', 'the coding is not one that was asked for')
}

function isPersistent(isNew: boolean, { connection }: HttpResponse['headers']): boolean {
  const options = typeof connection === 'string' ? connection.toLowerCase() : ''
  return !closes.test(options) && (isNew || keeps.test(options))
}

function idleSecondsOf({ 'keep-alive': keepAlive }: HttpResponse['headers']): number {
  return typeof keepAlive === 'string' ? Number(idleTime.exec(keepAlive)?.[1] ?? Infinity) : Infinity
}
