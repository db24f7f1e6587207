import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { toResponse } from '@drawbridge/shared/text-response.ts'
import { callerSample } from '../../tests/support/server/mcp/tool-fixture.ts'
import { OpenStreams, type StreamSource, type StreamTerms } from './open-streams.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const head = { status: 200, headers: { 'content-type': 'text/event-stream' } }
const priming = 'id: 1\nretry: 1000\ndata: \n\n'
const message = 'event: message\ndata: {"of":1}\n\n'

/** A source that has what `give` is called with; undefined ends it. */
function sourceOf(...first: (string | Uint8Array | undefined)[]) {
  const waiting: ((chunk: string | Uint8Array | undefined) => void)[] = []
  const chunks = [...first]
  const source: StreamSource = {
    read: () =>
      chunks.length > 0 ? Promise.resolve(chunks.shift()) : new Promise((resolve) => waiting.push(resolve)),
    cancel: vi.fn(() => waiting.shift()?.(undefined)),
  }
  const give = (chunk: string | Uint8Array | undefined): void => {
    const next = waiting.shift()
    if (next) next(chunk)
    else chunks.push(chunk)
  }
  return { source, give }
}

/** Serves a source as the stream of a call, and says whether the reply is there yet. */
function serving(source: StreamSource, terms: Partial<StreamTerms> = {}, streams = openStreams()) {
  const ended = vi.fn()
  const calls = { over: vi.fn() }
  const reply = streams.serve(source, head, { caller: callerSample, kind: 'call', ended, calls, ...terms })
  let isThere = false
  void reply.then(
    () => (isThere = true),
    () => {},
  )
  return { reply, ended, calls, streams, isThere: () => isThere }
}

function openStreams(): OpenStreams {
  return new OpenStreams({ now: () => 0 })
}

async function readAll(body: unknown): Promise<string> {
  return new Response(body as ReadableStream<Uint8Array>).text()
}

describe('the stream of a call', () => {
  it.each([
    ['at once', 0],
    ['after 99 ms of silence', 99],
  ])('that is over %s is one text', async (_, silentMs) => {
    const { source, give } = sourceOf(priming)
    const { reply, ended, calls } = serving(source)
    await vi.advanceTimersByTimeAsync(silentMs)
    give(new TextEncoder().encode('data: {"of":"é"}\n\n'))
    give(undefined)
    expect(await reply).toEqual({ ...head, body: `${priming}data: {"of":"é"}\n\n` })
    expect(ended.mock.calls).toEqual([['over']])
    expect(calls.over).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([
    ['5 ms after a message', [priming, message], 5],
    ['5 ms after a batch', ['data: [{"of":1}]\n\n'], 5],
    ['after 100 ms without a message', [priming, ': comment\n\n'], 100],
    ['after 100 ms without anything', [], 100],
  ])('that goes on is sent %s, with all that came later', async (_, first, afterMs) => {
    const { source, give } = sourceOf(...first)
    const { reply, ended, isThere } = serving(source)
    await vi.advanceTimersByTimeAsync(afterMs - 1)
    expect(isThere()).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(isThere()).toBe(true)
    expect(ended).not.toHaveBeenCalled()
    const text = readAll((await reply).body)
    give('data: {"last":true}\n\n')
    give(undefined)
    expect(await text).toBe([...first, 'data: {"last":true}\n\n'].join(''))
    expect(ended.mock.calls).toEqual([['over']])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('whose messages keep coming is sent 5 ms after the first of them', async () => {
    const { source, give } = sourceOf()
    const { isThere } = serving(source)
    for (const ms of [2, 2]) {
      give(message)
      await vi.advanceTimersByTimeAsync(ms)
    }
    give(message)
    expect(isThere()).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(isThere()).toBe(true)
  })

  it.each(['refused', 'over'] as const)(
    'that ends as %s while its start waits has what came',
    async (how) => {
      const { source } = sourceOf(priming)
      const isLive = vi.fn(async () => how === 'over')
      const caller = { ...callerSample, isLive, expiresAt: 1 }
      const { reply, ended, streams } = serving(source, { caller })
      await vi.advanceTimersByTimeAsync(1)
      if (how === 'refused') await streams.check()
      else streams.close()
      expect(await readAll((await reply).body)).toBe(priming)
      expect(ended.mock.calls).toEqual([[how]])
      expect(source.cancel).toHaveBeenCalledOnce()
    },
  )

  it('that its client leaves after the start ends its source', async () => {
    const { source } = sourceOf(message)
    const { reply, ended } = serving(source)
    await vi.advanceTimersByTimeAsync(5)
    const { body } = (await reply) as Response
    await body?.cancel()
    expect(source.cancel).toHaveBeenCalledOnce()
    expect(ended.mock.calls).toEqual([['over']])
  })

  it('whose source fails at the start rejects, and is over', async () => {
    const failing: StreamSource = { read: () => Promise.reject(new Error('gone')), cancel: () => {} }
    const { reply, ended } = serving(failing)
    await expect(reply).rejects.toThrow('gone')
    expect(ended.mock.calls).toEqual([['over']])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('whose source fails later breaks off', async () => {
    let fail: (error: Error) => void = () => {}
    const reads = [Promise.resolve(message), new Promise<never>((_, reject) => (fail = reject))]
    const source: StreamSource = { read: () => reads.shift() ?? Promise.resolve(undefined), cancel: () => {} }
    const { reply, ended } = serving(source)
    await vi.advanceTimersByTimeAsync(5)
    const text = readAll((await reply).body)
    fail(new Error('gone'))
    await expect(text).rejects.toThrow('gone')
    expect(ended.mock.calls).toEqual([['over']])
  })
})

describe('a stream of notifications', () => {
  it('is sent at once', async () => {
    const { source, give } = sourceOf()
    const { reply } = serving(source, { kind: 'notifications' })
    const text = readAll((await reply).body)
    give(message)
    give(undefined)
    expect(await text).toBe(message)
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([
    ['while it is open', false],
    ['before it opens', true],
  ])('that the server ends %s has its close frame last', async (_, isBefore) => {
    const streams = openStreams()
    if (isBefore) streams.endNotificationStreams()
    const { source } = sourceOf(message)
    const { reply, ended } = serving(
      source,
      { kind: 'notifications', closeFrame: 'data: {"end":1}\n\n' },
      streams,
    )
    const { body } = (await reply) as Response
    await vi.advanceTimersByTimeAsync(0)
    if (!isBefore) streams.endNotificationStreams()
    expect(await readAll(body)).toBe(`${isBefore ? '' : message}data: {"end":1}\n\n`)
    expect(ended.mock.calls).toEqual([['over']])
    expect(source.cancel).toHaveBeenCalledOnce()
  })

  it('whose client does not read is cut off after a mebibyte', async () => {
    const { source, give } = sourceOf()
    const { ended } = serving(source, { kind: 'notifications' })
    for (let sent = 0; sent < 3; sent += 1) give(`data: ${'x'.repeat(600_000)}\n\n`)
    await vi.advanceTimersByTimeAsync(0)
    expect(ended.mock.calls).toEqual([['over']])
  })
})

it('a tracked reply in JSON stays the same', async () => {
  const reply = Response.json({})
  expect(await openStreams().track(reply, { caller: callerSample, kind: 'call' })).toBe(reply)
})

it('a tracked event stream keeps its status and headers', async () => {
  const body = new Blob([message]).stream()
  const headers = { ...head.headers, 'mcp-session-id': 'session' }
  const terms = { caller: callerSample, kind: 'call' } as const
  const reply = toResponse(await openStreams().track(new Response(body, { status: 202, headers }), terms))
  expect([reply.status, reply.headers.get('mcp-session-id'), await reply.text()]).toEqual([
    202,
    'session',
    message,
  ])
})
