import { describe, expect, it } from 'vitest'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { ExactIds } from './exact-ids.ts'

const big = '9007199254740993'
const runtime = createFakeRuntime()
const ids = new ExactIds(runtime)

const textOf = async (reply: Reply): Promise<string | null> =>
  reply instanceof Response ? reply.text() : reply.body
const answered = async (message: string): Promise<string | null> =>
  textOf(await ids.restore({ status: 200, headers: {}, body: JSON.stringify(ids.read(message)) }))

describe('a message', () => {
  it.each([
    `{"jsonrpc":"2.0","id":${big},"method":"x"}`,
    `{"jsonrpc":"2.0","id":1.0,"method":"x","params":{"_meta":{"progressToken":${big},"other":1.0}}}`,
    `{"jsonrpc":"2.0","id":"1.0","method":"x","params":{"n":[${big},1.0],"_meta":{"progressToken":"1.0"}}}`,
    `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${big},"reason":"1.0"}}`,
    `{"jsonrpc":"2.0","id":${big},"result":{"id":1.0}}`,
    `[{"jsonrpc":"2.0","id":${big},"method":"x","params":{}},{"jsonrpc":"2.0","id":9007199254740992,"method":"y"},7]`,
  ])('the message %s comes back as it was', async (message) => {
    expect(await answered(message)).toBe(message)
  })

  it('a message has texts in the place of ids and progress tokens that the SDK does not take, and nowhere else', () => {
    const params = `{"id":${big},"requestId":${big},"progressToken":${big},"_meta":{"progressToken":9007199254740992}}`
    const read = ids.read(`{"jsonrpc":"2.0","id":${big},"method":"x","params":${params}}`) as {
      id: unknown
      params: Record<string, unknown> & { _meta: { progressToken: unknown } }
    }
    expect(read.id).toEqual(expect.stringMatching(/^number-[\w-]{22}:9007199254740993$/))
    expect(read.params._meta.progressToken).toEqual(expect.stringMatching(/:9007199254740992$/))
    for (const name of ['id', 'requestId', 'progressToken']) expect(typeof read.params[name]).toBe('object')
    expect(ids.read('{"id":7,"params":{"_meta":{}}}')).toEqual({ id: 7, params: { _meta: {} } })
    expect(ids.read('{"method":"notifications/cancelled"}')).toEqual({ method: 'notifications/cancelled' })
  })

  it('a message names the same request each time, so that it can be cancelled', () => {
    const request = ids.read(`{"id":${big},"method":"x"}`)
    const cancelled = ids.read(`{"method":"notifications/cancelled","params":{"requestId":${big}}}`)
    expect((cancelled as { params: { requestId: unknown } }).params.requestId).toBe(
      (request as { id: unknown }).id,
    )
  })
})

describe('a reply', () => {
  const { id } = ids.read(`{"id":${big}}`) as { id: string }

  it.each<[kind: string, reply: Reply, status: number]>([
    ['text', { status: 404, headers: { 'x-own': '1' }, body: JSON.stringify({ id }) }, 404],
    ['JSON', Response.json({ id }, { status: 400, headers: { 'x-own': '1' } }), 400],
    [
      'an event stream',
      new Response(`data: ${JSON.stringify({ id })}\n\n`, {
        headers: { 'content-type': 'text/event-stream', 'x-own': '1' },
      }),
      200,
    ],
  ])('a reply that is %s keeps status and headers, and has the numbers', async (_kind, reply, status) => {
    const restored = (await ids.restore(reply)) as Response
    expect([restored.status, restored.headers.get('x-own')]).toEqual([status, '1'])
    expect(await restored.text()).toContain(`{"id":${big}}`)
  })

  it('a reply without a body stays without', async () => {
    expect(await textOf(await ids.restore(new Response(null, { status: 202 })))).toBe('')
    expect(await textOf(await ids.restore({ status: 499, headers: {}, body: null }))).toBe('')
  })

  it('a reply with the stand-ins of another server is unchanged, as they cannot be guessed', async () => {
    const body = JSON.stringify({ id })
    expect(await textOf(await new ExactIds(runtime).restore({ status: 200, headers: {}, body }))).toBe(body)
  })

  it('a reply ends its source when the client leaves a stream', async () => {
    let left = false
    const source = new ReadableStream({ cancel: () => void (left = true) })
    const stream = new Response(source, { headers: { 'content-type': 'text/event-stream' } })
    await ((await ids.restore(stream)) as Response).body?.cancel()
    await expect.poll(() => left).toBe(true)
  })
})
