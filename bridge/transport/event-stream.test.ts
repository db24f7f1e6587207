import { PassThrough } from 'node:stream'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readEventStream, type EventStreamEnd } from './event-stream.ts'

interface Read extends EventStreamEnd {
  events: { type: string; data: string }[]
}

/** The events of a stream whose bytes come in these pieces. */
async function read(pieces: readonly Uint8Array[], maxBytes = 1_000_000): Promise<Read> {
  const body = new PassThrough()
  for (const piece of pieces) if (piece.length > 0) body.write(piece)
  body.end()
  const events: Read['events'] = []
  const take = ({ type, data }: { type: string; data: Buffer }): void =>
    void events.push({ type, data: data.toString() })
  const end = await readEventStream({ body }, { take, isDone: () => false }, maxBytes)
  return { events, ...end }
}

function cut(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text)
  const places = [0, ...cuts.map((at) => Math.min(at, bytes.length)).sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place))
}

describe('readEventStream', () => {
  it.each<[string, string, Read['events'], string?]>([
    ['one line', 'data: a\n\n', [{ type: 'message', data: 'a' }]],
    ['lines joined', 'data: a\ndata\ndata: b\n\n', [{ type: 'message', data: 'a\n\nb' }]],
    [
      'type',
      'event: ping\ndata: a\n\ndata: b\n\n',
      [
        { type: 'ping', data: 'a' },
        { type: 'message', data: 'b' },
      ],
    ],
    [
      'id stays',
      'id: 1\ndata: a\n\ndata: b\n\n',
      [
        { type: 'message', data: 'a' },
        { type: 'message', data: 'b' },
      ],
      '1',
    ],
    ['empty data is data', 'id: 9\ndata:\n\n', [{ type: 'message', data: '' }], '9'],
    ['id with NUL', 'id: a\0b\ndata: x\n\n', [{ type: 'message', data: 'x' }]],
    ['comments and unknown fields', ': hi\nfoo: bar\ndata: a\n: x\n\n', [{ type: 'message', data: 'a' }]],
    ['event of no data', 'event: x\n\ndata: a\n\n', [{ type: 'message', data: 'a' }]],
    ['more than ASCII', 'data: ключ\n\n', [{ type: 'message', data: 'ключ' }]],
  ])('readEventStream reads an event stream: %s', async (_what, text, events, lastEventId) => {
    for (const lineEnd of ['\n', '\r\n']) {
      const stream = text.replaceAll('\n', lineEnd)
      for (const at of [0, 1, 5, 9])
        expect(await read(cut(stream, [at, at + 1])), JSON.stringify(stream)).toMatchObject({
          events,
          lastEventId,
        })
    }
  })

  it('a byte order mark is dropped at the start of a stream only, however it is cut', async () => {
    for (const cuts of [[], [1], [2], [1, 2], [3], [1, 5]])
      expect((await read(cut('\u{feff}data: a\n\n', cuts))).events).toEqual([{ type: 'message', data: 'a' }])
    expect((await read(cut('data: \u{feff}a\n\n\u{feff}data: b\n\n', [2, 6]))).events).toEqual([
      { type: 'message', data: '\u{feff}a' },
    ])
    expect((await read(cut('da', [1]))).events).toEqual([])
    expect((await read([Buffer.from('\n\n'), Buffer.from('data: a\n\n')])).events).toHaveLength(1)
  })

  it('reading stops and closes the connection when done, or when an event cannot be handled', async () => {
    const body = (): PassThrough => {
      const stream = new PassThrough()
      stream.write('id: 1\ndata: a\n\nid: 2\ndata: b\n\n')
      return stream
    }
    const taken: string[] = []
    const take = ({ data }: { data: Buffer }): void => void taken.push(data.toString())
    const done = body()
    const end = await readEventStream({ body: done }, { take, isDone: () => true })
    expect([taken, end.lastEventId]).toEqual([['a'], '1'])
    // Its connection can be used again, or has ended.
    await expect.poll(() => done.destroyed || done.readableFlowing).toBe(true)
    const broken = body()
    const throwing = (): never => {
      throw new RangeError('no')
    }
    await expect(readEventStream({ body: broken }, { take: throwing, isDone: () => false })).rejects.toThrow(
      'no',
    )
    expect(broken.destroyed).toBe(true)
  })

  it('the end of a stream names its last event and why it broke off', async () => {
    const body = new PassThrough()
    const sizes: number[] = []
    const reading = readEventStream(
      { body },
      { take: () => {}, received: async (bytes) => void sizes.push(bytes), isDone: () => false },
    )
    body.write('data: a\n\n')
    await new Promise((resolve) => setImmediate(resolve))
    body.destroy(new Error('reset'))
    expect(await reading).toMatchObject({ cause: { message: 'reset' } })
    expect(sizes).toEqual([9])
  })

  it('the delay that the server asks for is read', async () => {
    expect(await read([Buffer.from('retry: 500\n\n')])).toMatchObject({ retryMs: 500 })
    expect(await read([Buffer.from('retry: soon\nretry: -1\nretry: 1.5\n\n')])).toMatchObject({
      retryMs: undefined,
    })
  })

  it('events are the same however the stream is cut into chunks', async () => {
    const parts = fc.constantFrom(
      'data: a',
      'data:',
      'id: 1',
      'event: e',
      ':c',
      'retry: 5',
      '\n',
      '\r\n',
      'ü',
      '\n\n',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(parts), fc.array(fc.nat({ max: 60 })), async (pieces, cuts) => {
        const text = pieces.join('')
        expect(await read(cut(text, cuts))).toEqual(await read([Buffer.from(text)]))
      }),
      { numRuns: 300 },
    )
  })

  it('an event of megabytes in small chunks takes linear time', async () => {
    const chunks = Array.from({ length: 20_000 }, () => Buffer.alloc(512, 'x'))
    const before = process.cpuUsage()
    const { events } = await read([Buffer.from('data: '), ...chunks, Buffer.from('\n\n')], 64 * 1024 * 1024)
    expect(events[0]?.data).toHaveLength(10_240_000)
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2500)
  })

  it('an event that is too large is refused, in one line or in many', async () => {
    await expect(read([Buffer.from(`data: ${'x'.repeat(200)}`)], 100)).rejects.toThrow('larger')
    await expect(read([Buffer.from('data: 1234567890\n'.repeat(20))], 100)).rejects.toThrow('larger')
    const comments = await read([Buffer.from(`${': keep alive\n\n'.repeat(100)}data: a\n\n`)], 100)
    expect(comments.events).toHaveLength(1)
  })
})
