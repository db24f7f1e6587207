import { describe, expect, it } from 'vitest'
import { toResponse } from '@drawbridge/shared/text-response.ts'
import type { RequestContext } from './endpoint.ts'
import { createStreamCheckEndpoint } from './stream-check.ts'

const context: RequestContext = { id: 'r1', address: undefined, report: () => {} }

/** The endpoint with seconds that end when the test says so. */
function atTest(): { get: () => Promise<Response>; pass: () => void } {
  const waiting: (() => void)[] = []
  const sleep = (): Promise<void> => new Promise((resolve) => void waiting.push(resolve))
  const { path, methods } = createStreamCheckEndpoint('/base', { sleep })
  const url = `http://localhost${path}`
  return {
    async get() {
      const reply = await methods['GET']?.(new Request(url), context)
      if (!reply) throw new Error('There is no GET.')
      return toResponse(reply)
    },
    pass: () => waiting.splice(0).forEach((end) => end()),
  }
}

describe('the stream for checking', () => {
  it('the stream for checking sends one event at once and the other a second later, and forbids proxies to buffer it', async () => {
    const { get, pass } = atTest()
    const response = await get()
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toContain('no-transform')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    const reader = response.body?.getReader()
    const read = async (): Promise<string> => new TextDecoder().decode((await reader?.read())?.value)
    expect(await read()).toBe('data: 1\n\n')
    pass()
    expect(await read()).toBe('data: 2\n\n')
    expect(await reader?.read()).toEqual({ done: true, value: undefined })
  })

  it('the stream for checking is refused while eight are open', async () => {
    const { get, pass } = atTest()
    for (let n = 0; n < 8; n += 1) await (await get()).body?.cancel()
    const refused = await get()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    pass()
    await new Promise((resolve) => void setImmediate(resolve))
    expect((await get()).status).toBe(200)
  })
})
