import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSseParser } from './sse-parser.ts'

interface Read {
  type: string | undefined
  data: string
  id: string | undefined
}

function read(text: string, cuts: readonly number[] = []): { events: Read[]; retryMs: number | undefined } {
  const bytes = Buffer.from(text)
  const parser = createSseParser(1_000_000)
  const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length]
  const events = places
    .slice(1)
    .flatMap((place, index) => parser.push(Buffer.from(bytes.subarray(places[index], place))))
    .map(({ type, data, id }) => ({ type, data: data.toString(), id }))
  return { events, retryMs: parser.retryMs() }
}

describe('createSseParser', () => {
  it.each<[string, string, Read[]]>([
    ['one line', 'data: a\n\n', [{ type: 'message', data: 'a', id: undefined }]],
    ['no space', 'data:a\n\n', [{ type: 'message', data: 'a', id: undefined }]],
    ['only one space is dropped', 'data:  a\n\n', [{ type: 'message', data: ' a', id: undefined }]],
    ['lines joined', 'data: a\ndata\ndata: b\n\n', [{ type: 'message', data: 'a\n\nb', id: undefined }]],
    [
      'type',
      'event: ping\ndata: a\n\ndata: b\n\n',
      [
        { type: 'ping', data: 'a', id: undefined },
        { type: 'message', data: 'b', id: undefined },
      ],
    ],
    [
      'id stays',
      'id: 1\ndata: a\n\ndata: b\n\n',
      [
        { type: 'message', data: 'a', id: '1' },
        { type: 'message', data: 'b', id: '1' },
      ],
    ],
    ['id without data', 'id: 9\n\n', [{ type: undefined, data: '', id: '9' }]],
    [
      'an id without data is named once',
      'id: 9\n\n\n\ndata: a\n\n\n',
      [
        { type: undefined, data: '', id: '9' },
        { type: 'message', data: 'a', id: '9' },
      ],
    ],
    ['empty data is data', 'id: 9\ndata:\n\n', [{ type: 'message', data: '', id: '9' }]],
    ['id with NUL', 'id: a\0b\ndata: x\n\n', [{ type: 'message', data: 'x', id: undefined }]],
    [
      'comments and unknown fields',
      ': hi\nfoo: bar\ndata: a\n: x\n\n',
      [{ type: 'message', data: 'a', id: undefined }],
    ],
    [
      'field that only starts like data',
      'dataset: b\ndata: a\n\n',
      [{ type: 'message', data: 'a', id: undefined }],
    ],
    ['byte order mark', '\u{feff}data: a\n\n', [{ type: 'message', data: 'a', id: undefined }]],
    [
      'a mark later is text',
      'data: a\n\n\u{feff}data: b\n\n',
      [{ type: 'message', data: 'a', id: undefined }],
    ],
    ['unfinished event', 'data: a\n\ndata: b\n', [{ type: 'message', data: 'a', id: undefined }]],
    ['event of no data', 'event: x\n\ndata: a\n\n', [{ type: 'message', data: 'a', id: undefined }]],
  ])('%s', (_what, text, events) => {
    for (const lineEnd of ['\n', '\r\n', '\r']) {
      const stream = text.replaceAll('\n', lineEnd)
      expect(read(stream).events, JSON.stringify(stream)).toEqual(events)
      for (let cut = 1; cut < stream.length + 2; cut += 1)
        expect(read(stream, [cut, cut + 1]).events, `${JSON.stringify(stream)} cut at ${cut}`).toEqual(events)
    }
  })

  it('reads the wait that is asked for', () => {
    expect(read('retry: 500\n\n').retryMs).toBe(500)
    expect(read('retry: soon\nretry: -1\nretry: 1.5\n\n').retryMs).toBeUndefined()
  })

  it('gives the same events however the stream is cut', () => {
    const parts = fc.constantFrom(
      'data: a',
      'data:',
      'id: 1',
      'event: e',
      ':c',
      'retry: 5',
      '\n',
      '\r\n',
      '\r',
      'ü',
      '\n\n',
    )
    fc.assert(
      fc.property(fc.array(parts), fc.array(fc.nat({ max: 60 })), (pieces, cuts) => {
        const text = pieces.join('')
        expect(read(text, cuts)).toEqual(read(text))
      }),
      { numRuns: 2000 },
    )
  })

  it('reads an event of megabytes in small chunks at once per byte', () => {
    const parser = createSseParser(64 * 1024 * 1024)
    const chunk = Buffer.alloc(512, 'x')
    const before = process.cpuUsage()
    parser.push(Buffer.from('data: '))
    for (let index = 0; index < 20_000; index += 1) parser.push(chunk)
    const [event] = parser.push(Buffer.from('\n\n'))
    expect(event?.data.length).toBe(10_240_000)
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1500)
  })

  it('refuses an event that is too large, in one line or in many', () => {
    const long = createSseParser(100)
    expect(() => long.push(Buffer.from(`data: ${'x'.repeat(200)}`))).toThrow('larger')
    const many = createSseParser(100)
    expect(() => many.push(Buffer.from('data: 1234567890\n'.repeat(20)))).toThrow('larger')
    const comments = createSseParser(100)
    expect(comments.push(Buffer.from(`${': keep alive\n\n'.repeat(100)}data: a\n\n`)).length).toBe(1)
  })
})
