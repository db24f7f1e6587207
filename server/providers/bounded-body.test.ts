import { describe, expect, it } from 'vitest'
import { readBoundedText } from './bounded-body.ts'

const kilobyte = new Uint8Array(1000).fill(120)

/** A response whose body goes on for as long as it is read. */
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
