import { describe, expect, it } from 'vitest'
import { parseRetryAfter, readBoundedText } from './response.ts'

const kilobyte = new Uint8Array(1000).fill(120)

/** Creates a response with an endless body. */
function endless(headers: Record<string, string> = {}) {
  const seen = { pulled: 0, cancelled: false }
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      seen.pulled += 1
      controller.enqueue(kilobyte)
    },
    cancel() {
      seen.cancelled = true
    },
  })
  return { seen, response: new Response(body, { headers }) }
}

describe('the text of an answer', () => {
  it.each([
    ['nothing', new Response(null), ''],
    ['an empty body', new Response(''), ''],
    ['characters of several bytes', new Response('ä€😀'), 'ä€😀'],
    ['bytes that are no UTF-8', new Response(new Uint8Array([0x61, 0xff])), 'a\ufffd'],
  ])('%s', async (_what, response, text) => {
    expect(await readBoundedText(response)).toBe(text)
  })

  it('whose characters are cut in two by the network is whole', async () => {
    const bytes = new TextEncoder().encode('ä€😀')
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    expect(await readBoundedText(new Response(body))).toBe('ä€😀')
  })

  it('of exactly a megabyte is read, of one byte more is not', async () => {
    expect(await readBoundedText(new Response('x'.repeat(1_000_000)))).toHaveLength(1_000_000)
    expect(await readBoundedText(new Response('x'.repeat(1_000_001)))).toBeUndefined()
  })

  it('without end is left after a megabyte', async () => {
    const { seen, response } = endless()
    expect(await readBoundedText(response)).toBeUndefined()
    expect(seen.cancelled).toBe(true)
    expect(seen.pulled).toBeLessThan(1010)
  })

  it('that announces more than a megabyte is not even begun', async () => {
    const { seen, response } = endless({ 'content-length': '1000001' })
    expect(await readBoundedText(response)).toBeUndefined()
    expect(seen.cancelled).toBe(true)
    expect(seen.pulled).toBeLessThan(3)
  })

  it('that breaks off is an error', async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(kilobyte)
        controller.error(new TypeError('terminated'))
      },
    })
    await expect(readBoundedText(new Response(body))).rejects.toThrow('terminated')
  })
})

const now = Date.parse('2027-01-01T00:00:00Z') / 1000

describe('RFC 9110 10.2.3: Retry-After', () => {
  it.each([
    ['30', 30],
    ['0', 0],
    [' 7 ', 7],
    ['999999', 999_999],
    ['1000000', undefined],
    ['Fri, 01 Jan 2027 00:00:30 GMT', 30],
    ['Friday, 01-Jan-27 00:01:00 GMT', 60],
    ['Thu, 31 Dec 2026 23:59:59 GMT', 0],
    ['Fri, 31 Dec 2027 23:59:59 GMT', undefined],
    ['Fri, never', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['2027', 2027],
    ['2027-01-01', undefined],
    ['soon', undefined],
    ['', undefined],
    [null, undefined],
  ])('%j is %s seconds', (text, seconds) => {
    expect(parseRetryAfter(text, now)).toBe(seconds)
  })
})
