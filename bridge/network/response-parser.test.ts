import { describe, expect, it } from 'vitest'
import type { HttpResponse } from './http-client.ts'
import { ResponseSyntaxError } from './response-head.ts'
import { ResponseParser } from './response-parser.ts'

interface Read {
  status?: number
  headers?: HttpResponse['headers']
  body: string
  /** How many bytes were behind the end; -1: there was no end; the code of what was wrong. */
  end: number | string
  parser: ResponseParser
}

/** Reads `text`, cut into pieces of `size` bytes. */
function read(text: string, { size = text.length, method = 'GET', closed = false } = {}): Read {
  const seen: Read = { body: '', end: -1, parser: undefined as never }
  const parser = new ResponseParser({
    onHead: (status, headers) => Object.assign(seen, { status, headers: { ...headers } }),
    onBody: (pieces) => void (seen.body += Buffer.concat(pieces).toString('latin1')),
  })
  seen.parser = parser
  parser.begin(method)
  const bytes = Buffer.from(text, 'latin1')
  try {
    for (let at = 0; at < bytes.length; at += size) {
      const rest = parser.read(bytes.subarray(at, at + size))
      if (rest !== -1)
        return { ...seen, parser, end: bytes.length - Math.min(bytes.length, at + size) + rest }
    }
  } catch (error) {
    if (!(error instanceof ResponseSyntaxError)) throw error
    return { ...seen, end: error.code }
  }
  return { ...seen, end: closed && parser.finish() ? 0 : -1 }
}

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

describe.each([
  ['whole', Infinity],
  ['byte by byte', 1],
  ['in threes', 3],
])('a response that comes %s', (_how, size) => {
  it.each<[name: string, text: string, expected: Partial<Read>]>([
    ['a length', `${ok}Content-Length: 5\r\n\r\nhello`, { status: 200, body: 'hello', end: 0 }],
    ['a length of none', `${ok}Content-Length: 0\r\n\r\n`, { body: '', end: 0 }],
    ['a length with zeros before it', `${ok}Content-Length: 0005\r\n\r\nhello`, { body: 'hello', end: 0 }],
    ['less than its length', `${ok}Content-Length: 5\r\n\r\nhell`, { body: 'hell', end: -1 }],
    ['more than its length', `${ok}Content-Length: 2\r\n\r\nhello`, { body: 'he', end: 3 }],
    ['chunks', `${chunked}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`, { body: 'hello world', end: 0 }],
    [
      'chunks whose sizes are in hexadecimal',
      `${chunked}00a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n`,
      { body: '01234567890123456789', end: 0 },
    ],
    [
      'extensions behind the size',
      `${chunked}5;a=b;c="d;\\"e";f\r\nhello\r\n0;g\r\n\r\n`,
      { body: 'hello', end: 0 },
    ],
    [
      'a trailer',
      `${chunked}1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n`,
      { body: 'x', end: 0, headers: { 'transfer-encoding': 'chunked' } },
    ],
    ['something behind its chunks', `${chunked}1\r\nx\r\n0\r\n\r\nHTTP`, { body: 'x', end: 4 }],
    ['chunks that do not end', `${chunked}5\r\nhello\r\n`, { body: 'hello', end: -1 }],
    ['line ends within a chunk', `${chunked}4\r\n\r\n\r\n\r\n0\r\n\r\n`, { body: '\r\n\r\n', end: 0 }],
    ['neither', `${ok}\r\nanything`, { body: 'anything', end: -1 }],
    [
      'no body by its status',
      'HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n',
      { status: 204, body: '', end: 0 },
    ],
    ['not changed', 'HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n', { status: 304, end: 0 }],
    [
      'interim ones before it',
      `HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok}Content-Length: 1\r\n\r\nx`,
      { status: 200, body: 'x', end: 0, headers: { 'content-length': '1' } },
    ],
    ['another protocol after it', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nabc', { status: 101, end: 3 }],
    ['no reason', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', { status: 200, end: 0 }],
    [
      'a reason in Latin-1',
      'HTTP/1.1 200 sch\xf6n \t!\r\nContent-Length: 0\r\n\r\n',
      { status: 200, end: 0 },
    ],
    ['empty lines before it', `\r\n\r\n${ok}Content-Length: 0\r\n\r\n`, { status: 200, end: 0 }],
    ['the coding that is none', `${ok}Transfer-Encoding: identity\r\n\r\nx`, { body: 'x', end: -1 }],
    [
      'headers of every kind',
      `${ok}A:b\r\nA: c \t\r\nX-Empty:\r\nSet-Cookie: a=b\r\nset-cookie: c\r\n__proto__: x\r\nUmlaut: \xfc\r\nContent-Length: 0\r\n\r\n`,
      {
        headers: {
          a: 'b, c',
          'x-empty': '',
          'set-cookie': ['a=b', 'c'],
          ['__proto__']: 'x',
          umlaut: '\xfc',
          'content-length': '0',
        },
        end: 0,
      },
    ],
  ])('with %s', (_name, text, expected) => {
    expect(read(text, { size: Math.min(size, text.length) })).toMatchObject(expected)
  })

  it.each<[name: string, text: string, code: string]>([
    ['another protocol', 'SSH-2.0-OpenSSH\r\n', 'HTTP_STATUS_LINE'],
    ['a record of TLS', '\x15\x03\x01\x00\x02\x02\x46', 'HTTP_STATUS_LINE'],
    ['another version', 'HTTP/2.0 200 OK\r\n\r\n', 'HTTP_STATUS_LINE'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', 'HTTP_STATUS_LINE'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', 'HTTP_STATUS_LINE'],
    ['a status that begins with zero', 'HTTP/1.1 099 OK\r\n\r\n', 'HTTP_STATUS_LINE'],
    ['a header without colon', `${ok}Nothing\r\n\r\n`, 'HTTP_HEADER'],
    ['a header without name', `${ok}: x\r\n\r\n`, 'HTTP_HEADER'],
    ['a space before the colon', `${ok}Content-Length : 1\r\n\r\nx`, 'HTTP_HEADER'],
    ['a folded line', `${ok}A: b\r\n c\r\n\r\n`, 'HTTP_HEADER'],
    ['a line feed alone', `${ok}A: b\nC: d\r\n\r\n`, 'HTTP_HEADER'],
    ['a carriage return alone', `${ok}A: b\rC: d\r\n\r\n`, 'HTTP_HEADER'],
    ['a zero byte', `${ok}A: b\0c\r\n\r\n`, 'HTTP_HEADER'],
    ['two lengths', `${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`, 'HTTP_LENGTH'],
    ['the same length twice', `${ok}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`, 'HTTP_LENGTH'],
    ['a length with a sign', `${ok}Content-Length: +1\r\n\r\nx`, 'HTTP_LENGTH'],
    ['a length in hexadecimal', `${ok}Content-Length: 0x1\r\n\r\nx`, 'HTTP_LENGTH'],
    ['a length beyond numbers', `${ok}Content-Length: 99999999999999999999\r\n\r\nx`, 'HTTP_LENGTH'],
    [
      'a length and chunks',
      `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`,
      'HTTP_LENGTH',
    ],
    ['a coding that nobody asked for', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`, 'HTTP_CODING'],
    ['chunks within chunks', `${ok}Transfer-Encoding: chunked, chunked\r\n\r\n`, 'HTTP_CODING'],
    ['a chunk without size', `${chunked}\r\nx`, 'HTTP_CHUNK'],
    ['a size that is no number', `${chunked}zz\r\n`, 'HTTP_CHUNK'],
    ['a size with a sign', `${chunked}-1\r\n`, 'HTTP_CHUNK'],
    ['a size beyond numbers', `${chunked}fffffffffffffffff\r\n`, 'HTTP_CHUNK'],
    ['a size whose line ends in a line feed alone', `${chunked}1\nx\r\n0\r\n\r\n`, 'HTTP_CHUNK'],
    ['a space behind the size', `${chunked}1 \r\nx\r\n0\r\n\r\n`, 'HTTP_CHUNK'],
    ['a tab before an extension', `${chunked}1\t;a\r\nx\r\n0\r\n\r\n`, 'HTTP_CHUNK'],
    ['an extension with a zero byte', `${chunked}1;a\0b\r\nx\r\n0\r\n\r\n`, 'HTTP_CHUNK'],
    ['an extension with a carriage return', `${chunked}1;a\rb\r\nx\r\n0\r\n\r\n`, 'HTTP_CHUNK'],
    ['an extension with a control character', `${chunked}1;\x01\r\nx\r\n0\r\n\r\n`, 'HTTP_CHUNK'],
    ['an extension whose quotes do not end', `${chunked}1;a="b\r\nx\r\n0\r\n\r\n`, 'HTTP_CHUNK'],
    ['a trailer without colon', `${chunked}0\r\nNothing\r\n\r\n`, 'HTTP_HEADER'],
    ['a trailer with a zero byte', `${chunked}0\r\nA: b\0c\r\n\r\n`, 'HTTP_HEADER'],
    ['a trailer with a carriage return', `${chunked}0\r\nA: b\rc\r\n\r\n`, 'HTTP_HEADER'],
    ['a folded trailer', `${chunked}0\r\nA: b\r\n c\r\n\r\n`, 'HTTP_HEADER'],
    ['a response in the trailer', `${chunked}0\r\n${ok}\r\n`, 'HTTP_HEADER'],
    ['a length in the trailer', `${chunked}0\r\nContent-Length: 7\r\n\r\n`, 'HTTP_LENGTH'],
    ['a coding in the trailer', `${chunked}0\r\nTransfer-Encoding: chunked\r\n\r\n`, 'HTTP_LENGTH'],
    [
      'an interim response with a length',
      `HTTP/1.1 100 x\r\nContent-Length: 5\r\n\r\n${ok}\r\n`,
      'HTTP_LENGTH',
    ],
    [
      'an interim response with a coding',
      `HTTP/1.1 103 x\r\nTransfer-Encoding: chunked\r\n\r\n${ok}\r\n`,
      'HTTP_LENGTH',
    ],
    ['a tab behind the coding', `${ok}Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n`, 'HTTP_CODING'],
    ['a chunk longer than its size', `${chunked}1\r\nxy\r\n0\r\n\r\n`, 'HTTP_CHUNK'],
    ['a size line without end', `${chunked}1;${'x'.repeat(5000)}`, 'HTTP_CHUNK'],
    ['a trailer without end', `${chunked}0\r\n${'A: b\r\n'.repeat(40_000)}`, 'HTTP_HEAD_TOO_LARGE'],
    ['a head without end', `${ok}A: ${'b'.repeat(140_000)}`, 'HTTP_HEAD_TOO_LARGE'],
    ['a head that is too large', `${ok}A: ${'b'.repeat(140_000)}\r\n\r\n`, 'HTTP_HEAD_TOO_LARGE'],
  ])('is refused for %s', (_name, text, code) => {
    const { end } = read(text, { size: Math.min(size, text.length) })
    expect(end).toBe(code)
  })
})

describe('a head of many lines', () => {
  const lines = 'a:\r\n'.repeat(32_000)

  it('is read', () => {
    expect(read(`${ok}${lines}Content-Length: 1\r\n\r\nx`)).toMatchObject({ body: 'x', end: 0 })
  })

  it('is refused for the last of them', () => {
    expect(read(`${ok}${lines}b\r\n\r\n`)).toMatchObject({ end: 'HTTP_HEADER' })
  })
})

describe('a response', () => {
  it('to HEAD has no body, whatever its length', () => {
    expect(read(`${ok}Content-Length: 5\r\n\r\n`, { method: 'HEAD' })).toMatchObject({ body: '', end: 0 })
    expect(read(chunked, { method: 'HEAD' })).toMatchObject({ body: '', end: 0 })
  })

  it('ends with the connection if nothing else says where', () => {
    expect(read(`${ok}\r\nabc`, { closed: true })).toMatchObject({ body: 'abc', end: 0 })
    expect(read(`${ok}Content-Length: 4\r\n\r\nabc`, { closed: true })).toMatchObject({ end: -1 })
    expect(read(`${chunked}3\r\nabc\r\n`, { closed: true })).toMatchObject({ end: -1 })
    expect(read('HTTP/1.1 200 OK\r\n', { closed: true })).toMatchObject({ end: -1 })
  })

  it.each([
    ['HTTP/1.1 200 OK', '', true],
    ['HTTP/1.1 200 OK', 'Connection: keep-alive\r\n', true],
    ['HTTP/1.1 200 OK', 'Connection: Upgrade, Close\r\n', false],
    ['HTTP/1.1 200 OK', 'Connection: disclose\r\n', true],
    ['HTTP/1.0 200 OK', '', false],
    ['HTTP/1.0 200 OK', 'Connection: Keep-Alive\r\n', true],
  ])('%s %s keeps the connection: %s', (line, header, expected) => {
    expect(read(`${line}\r\n${header}Content-Length: 0\r\n\r\n`).parser.persistent).toBe(expected)
  })

  it('without length keeps no connection', () => {
    expect(read(`${ok}Connection: keep-alive\r\n\r\nabc`, { closed: true }).parser.persistent).toBe(false)
  })

  it.each([
    ['timeout=5', 5],
    ['max=100, timeout=7', 7],
    ['timeout=x', Infinity],
    ['', Infinity],
  ])('with Keep-Alive: %s is kept for %s seconds', (value, seconds) => {
    expect(read(`${ok}Keep-Alive: ${value}\r\nContent-Length: 0\r\n\r\n`).parser.idleSeconds).toBe(seconds)
  })

  it('is followed by the next on the same connection', () => {
    const { parser } = read(`${chunked}1\r\nx\r\n0\r\n\r\n`)
    parser.begin('POST')
    expect(parser.read(Buffer.from(`${ok}Content-Length: 1\r\n\r\ny`))).toBe(0)
  })

  it('of many tiny chunks is handed on as few pieces', () => {
    const pieces: number[] = []
    const parser = new ResponseParser({ onHead: () => {}, onBody: ({ length }) => void pieces.push(length) })
    parser.begin('GET')
    parser.read(Buffer.from(chunked + '1\r\nx\r\n'.repeat(10_000)))
    expect(pieces).toEqual([10_000])
  })
})
