import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import { ProcessConnection } from './process-connection.ts'

let sent: Record<string, unknown>[]
let notified: string[]
let connection: ProcessConnection

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  sent = []
  notified = []
  connection = new ProcessConnection((message) => sent.push(message as unknown as Record<string, unknown>), {
    onNotification: ({ method }) => void notified.push(method),
    onRequest: ({ id, method }, answer) => answer({ jsonrpc: '2.0', id, result: { to: method } }),
  })
})
afterEach(() => vi.useRealTimers())

const receive = (message: object): boolean =>
  connection.receive({ jsonrpc: '2.0', ...message } as JsonRpcMessage)
const halfAnHour = 30 * 60 * 1000

describe('a request', () => {
  it('has an id and a progress token of its own', async () => {
    const heard: unknown[] = []
    const onProgress = (params: JsonObject): void => void heard.push(params['progress'])
    const params = { _meta: { progressToken: 'x', other: 1 } }
    const [first, second] = [1, 2].map(() => connection.request('tools/call', params, { onProgress }))
    expect(sent).toMatchObject([
      { id: 1, params: { _meta: { progressToken: 1, other: 1 } } },
      { id: 2, params: { _meta: { progressToken: 2, other: 1 } } },
    ])
    receive({ method: 'notifications/progress', params: { progressToken: 'x', progress: 9 } })
    receive({ method: 'notifications/progress', params: { progressToken: 2, progress: 2 } })
    receive({ id: 2, result: { of: 2 } })
    receive({ id: 2, result: { of: 'a second answer' } })
    receive({ id: 3, result: { of: 'nobody' } })
    receive({ method: 'notifications/progress', params: { progressToken: 2, progress: 3 } })
    receive({ id: 1, error: { code: -5, message: 'No.', data: 1 } })
    expect(await second).toEqual({ of: 2 })
    await expect(first).rejects.toMatchObject({ code: -5, message: 'No.', data: 1 })
    expect(heard).toEqual([2])
  })

  it('gets no progress token that its client has not given', () => {
    void connection.request('tools/call', { _meta: { other: 1 } })
    expect(sent).toMatchObject([{ params: { _meta: { other: 1 } } }])
    expect(JSON.stringify(sent)).not.toContain('progressToken')
  })

  it('is cancelled by its own id', async () => {
    const controller = new AbortController()
    const answer = connection.request('tools/call', {}, { signal: controller.signal })
    controller.abort()
    await expect(answer).rejects.toThrow()
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
    receive({ id: 1, result: {} })
    expect(sent).toHaveLength(2)
  })

  it('is given up after half an hour without a word', async () => {
    const settled = vi.fn()
    const answer = connection.request('tools/call', { _meta: { progressToken: 1 } }).catch(settled)
    vi.advanceTimersByTime(halfAnHour - 1)
    receive({ method: 'notifications/progress', params: { progressToken: 1 } })
    vi.advanceTimersByTime(halfAnHour - 1)
    expect(sent).toHaveLength(1)
    vi.advanceTimersByTime(1)
    await answer
    expect(settled).toHaveBeenCalledOnce()
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled' })
  })

  it('fails with the connection, and at once after that', async () => {
    const answer = connection.request('tools/call', {})
    connection.fail(new Error('It is over.'))
    await expect(answer).rejects.toThrow('It is over.')
    await expect(connection.request('tools/call', {})).rejects.toThrow('It is over.')
    expect(sent).toHaveLength(1)
  })
})

it('a request of the process is answered as long as it is there', () => {
  receive({ id: 'a', method: 'roots/list' })
  receive({ id: 'b', method: 'ping' })
  expect(sent).toEqual([
    { jsonrpc: '2.0', id: 'a', result: { to: 'roots/list' } },
    { jsonrpc: '2.0', id: 'b', result: {} },
  ])
  connection.fail(new Error('It is over.'))
  receive({ id: 'c', method: 'roots/list' })
  expect(sent).toHaveLength(2)
})

it('hands every other notification on', () => {
  receive({ method: 'notifications/message' })
  receive({ method: 'notifications/cancelled', params: { requestId: 'a' } })
  expect(notified).toEqual(['notifications/message', 'notifications/cancelled'])
})
