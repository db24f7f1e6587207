import { describe, expect, it } from 'vitest'
import { fetchFromProvider } from './provider-response.ts'

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

const request = new Request('https://provider.example/token')
const answer = (response: Response): Promise<Response> =>
  fetchFromProvider(request, { fetch: async () => response })
const transient = { name: 'ProviderError', failure: 'transient', outcomeKnown: false }

describe('an answer', () => {
  it("a provider's answer is complete, with its status and headers", async () => {
    const response = await answer(new Response('ä€😀', { status: 201, headers: { 'x-a': '1' } }))
    expect([response.status, response.headers.get('x-a'), await response.text()]).toEqual([201, '1', 'ä€😀'])
    expect((await answer(new Response(null, { status: 204 }))).status).toBe(204)
  })

  it("a provider's answer of exactly a megabyte is read, of one byte more is not", async () => {
    expect(await (await answer(new Response('x'.repeat(1_000_000)))).text()).toHaveLength(1_000_000)
    await expect(answer(new Response('x'.repeat(1_000_001)))).rejects.toMatchObject(transient)
  })

  it.each([
    ['without end is left after a megabyte', {}, 1010],
    ['that announces more than a megabyte is not even begun', { 'content-length': '1000001' }, 3],
  ])('an answer %s', async (_what, headers, pulls) => {
    const { seen, response } = endless(headers)
    await expect(answer(response)).rejects.toMatchObject(transient)
    expect(seen.cancelled).toBe(true)
    expect(seen.pulled).toBeLessThan(pulls)
  })

  it("a provider's answer that breaks off may have been to a call that was done", async () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(kilobyte)
        controller.error(new TypeError('terminated'))
      },
    })
    await expect(answer(new Response(body))).rejects.toMatchObject(transient)
  })
})

it.each<[what: string, error: Error, outcomeKnown: boolean]>([
  ['no network', new TypeError('fetch failed'), false],
  ['a timeout', new DOMException('The operation was aborted due to timeout', 'TimeoutError'), false],
  ['a connection that is refused', new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }), true],
  ['a connection that breaks', new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }), false],
])('a missing answer (%s) is transient, and keeps its cause', async (_what, cause, outcomeKnown) => {
  const result = fetchFromProvider(request, { fetch: () => Promise.reject(cause) })
  await expect(result).rejects.toMatchObject({ ...transient, outcomeKnown, cause })
})
