import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type BodyReading, readBody } from './body.ts'
import { type Listener, listen } from '../listener/listener.ts'

const limit = 10

/** Creates a request whose body arrives in pieces; without `length` its size is not declared. */
function request(pieces: readonly (string | Uint8Array)[], length?: string): Request {
  const encoder = new TextEncoder()
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) {
        controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : piece)
      }
      controller.close()
    },
  })
  const headers = length === undefined ? {} : { 'content-length': length }
  return new Request('https://mcp.example.com/', { method: 'POST', body, headers, duplex: 'half' })
}

/** Makes the body fail, instead of waiting, when more is read after the limit was passed. */
function failingBeyondLimit(received: Request): Request {
  const reader = received.body?.getReader()
  let length = 0
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (length > limit) throw new Error('The body was read on beyond the limit.')
        const { done = true, value } = (await reader?.read()) ?? {}
        if (done || value === undefined) return controller.close()
        length += value.length
        controller.enqueue(value)
      },
    },
    { highWaterMark: 0 },
  )
  return new Request('https://mcp.example.com/', { method: 'POST', body, duplex: 'half' })
}

it.each<[name: string, request: Request, expected: BodyReading]>([
  ['no body', new Request('https://mcp.example.com/', { method: 'POST' }), { kind: 'text', text: '' }],
  ['as much as allowed', request(['01234', '56789'], '10'), { kind: 'text', text: '0123456789' }],
  ['as much as allowed, undeclared', request(['01234', '56789']), { kind: 'text', text: '0123456789' }],
  ['a length of more', request(['0'], '11'), { kind: 'too_large' }],
  ['more than was declared and is allowed', request(['0123456789', '0'], '10'), { kind: 'too_large' }],
  ['more, undeclared', request(['0123456789', '0']), { kind: 'too_large' }],
  ['more, with a length that is none', request(['0123456789', '0'], 'many'), { kind: 'too_large' }],
  [
    'text in two halves of a character',
    request([new Uint8Array([0xc3]), new Uint8Array([0xa4])], '2'),
    { kind: 'text', text: 'ä' },
  ],
  ['half a character', request([new Uint8Array([0xc3])], '1'), { kind: 'not_utf8' }],
  ['half a character, undeclared', request([new Uint8Array([0xc3])]), { kind: 'not_utf8' }],
])('readBody: %s', async (_name, given, expected) => {
  expect(await readBody(given, limit)).toEqual(expected)
})

describe('readBody over a socket', () => {
  let listener: Listener
  afterEach(() => listener.close())

  /** Sends `text`, disconnects when told to, and returns the result of reading. */
  async function readingOf(
    text: string,
    end: 'keep' | 'hang_up',
    through: (received: Request) => Request = (received) => received,
  ): Promise<unknown> {
    let settle: (found: unknown) => void = () => {}
    const reading = new Promise<unknown>((resolve) => {
      settle = resolve
    })
    listener = await listen(
      async (received) => {
        await readBody(through(received), limit).then(settle, settle)
        return new Response('')
      },
      { host: '127.0.0.1', port: 0 },
    )
    const socket = connect(listener.port, '127.0.0.1', () =>
      socket.write(text, () => {
        if (end === 'hang_up') setImmediate(() => socket.destroy())
      }),
    )
    socket.on('error', () => {})
    const found = await reading
    socket.destroy()
    return found
  }

  const post = 'POST / HTTP/1.1\r\nHost: a\r\n'

  it('readBody stops reading endless chunks at the limit', async () => {
    const text = `${post}Transfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n`
    expect(await readingOf(text, 'keep', failingBeyondLimit)).toEqual({ kind: 'too_large' })
  })

  it.each<[name: string, text: string]>([
    ['a declared body', `${post}Content-Length: 5\r\n\r\n01`],
    ['a chunked body', `${post}Transfer-Encoding: chunked\r\n\r\n2\r\n01\r\n`],
  ])(
    'readBody tells a client that disconnects in the middle of %s from a failure of ours',
    async (_name, text) => {
      expect(await readingOf(text, 'hang_up')).toMatchObject({ code: 'ECONNRESET' })
    },
  )
})
