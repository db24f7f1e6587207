import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JsonRpcMessage, JsonRpcNotification } from '@drawbridge/shared/mcp/json-rpc.ts'
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
  it('a request to a process has an id and a progress token of its own', async () => {
    const heard: unknown[] = []
    const onMessage = ({ params }: JsonRpcNotification): void => void heard.push(params?.['progress'])
    const params = { _meta: { progressToken: 'x', other: 1 } }
    const [first, second] = [1, 2].map(() => connection.request('tools/call', params, { onMessage }))
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

  it('a request to a process has no progress token if its client gave none', () => {
    void connection.request('tools/call', { _meta: { other: 1 } })
    expect(sent).toMatchObject([{ params: { _meta: { other: 1 } } }])
    expect(JSON.stringify(sent)).not.toContain('progressToken')
  })

  it('a request to a process is cancelled there by its own id', async () => {
    const controller = new AbortController()
    const answer = connection.request('tools/call', {}, { signal: controller.signal })
    controller.abort()
    await expect(answer).rejects.toThrow()
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
    receive({ id: 1, result: {} })
    expect(sent).toHaveLength(2)
  })

  it('a request for initialize is not cancelled at the process, but ends for the client', async () => {
    const controller = new AbortController()
    const answer = connection.request('initialize', {}, { signal: controller.signal })
    controller.abort(new RangeError('the reason'))
    await expect(answer).rejects.toThrow('the reason')
    expect(sent).toHaveLength(1)
  })

  it('a request is not sent to the process if its client has left already', async () => {
    const signal = AbortSignal.abort(new RangeError('the reason'))
    await expect(connection.request('tools/call', {}, { signal })).rejects.toThrow('the reason')
    expect(sent).toEqual([])
  })

  it('a request to a process rejects with an error if it is cancelled with some other reason', async () => {
    const controller = new AbortController()
    const answer = connection.request('tools/call', {}, { signal: controller.signal })
    controller.abort('no error')
    await expect(answer).rejects.toThrow('The call was cancelled.')
  })

  it('a request to a process delays settled() until it has ended, unless it is lasting', async () => {
    await connection.settled()
    const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))
    void connection.request('subscriptions/listen', {}, { isLasting: true }).catch(() => {})
    const first = connection.request('tools/call', {})
    const second = connection.request('tools/call', {}).catch(() => 'refused')
    let isSettled = false
    const settled = connection.settled().then(() => (isSettled = true))
    receive({ id: 2, result: {} })
    await first
    await turn()
    expect(isSettled).toBe(false)
    receive({ id: 3, error: { code: 1, message: 'No.' } })
    expect(await second).toBe('refused')
    await settled
  })

  it('a request for a subscription is not given up, however long the process is silent', async () => {
    const settled = vi.fn()
    void connection.request('subscriptions/listen', {}, { isLasting: true }).then(settled, settled)
    await vi.advanceTimersByTimeAsync(10 * halfAnHour)
    expect(settled).not.toHaveBeenCalled()
    expect(sent).toHaveLength(1)
  })

  it('a request whose answer cannot be read fails with the given text, or a default one', async () => {
    const [one, other] = [1, 2].map(() => connection.request('tools/call', {}))
    connection.failAnswer(1, 'It is too large.')
    connection.failAnswer(2)
    connection.failAnswer(9)
    await expect(one).rejects.toMatchObject({ code: -32_603, message: 'It is too large.' })
    await expect(other).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining('cannot be read'),
    })
  })

  it('a request to a process is given up after half an hour of silence', async () => {
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

  it('a request to a process fails with the connection, and at once after that', async () => {
    const answer = connection.request('tools/call', {})
    connection.fail(new Error('It is over.'))
    await expect(answer).rejects.toThrow('It is over.')
    await expect(connection.request('tools/call', {})).rejects.toThrow('It is over.')
    expect(sent).toHaveLength(1)
  })
})

describe('an answer that names no request', () => {
  const unnamed = { id: null, error: { code: -32_603, message: 'No.' } }
  const failed = { code: -32_603, message: expect.stringContaining('cannot be read') }

  it('an answer that names no request fails the only one that is open, and no later one', async () => {
    const only = connection.request('tools/call', {})
    expect(receive(unnamed)).toBe(true)
    await expect(only).rejects.toMatchObject(failed)
    const later = connection.request('tools/call', {})
    receive({ id: 2, result: { of: 2 } })
    expect(await later).toEqual({ of: 2 })
  })

  it.each([0, -1, 1.5, 9, 2 ** 60])(
    'an answer with the id %s, which no request had, fails the only open one',
    async (id) => {
      const only = connection.request('tools/call', {})
      expect(receive({ id, result: {} })).toBe(false)
      connection.failAnswer(id)
      await expect(only).rejects.toMatchObject(failed)
    },
  )

  it('an answer that names no request fails the one that is left of those that were open when the others have answers of their own', async () => {
    const requests = [1, 2, 3].map(() => connection.request('tools/call', {}))
    receive({ result: { of: 'somebody' } })
    const later = connection.request('tools/call', {})
    receive({ id: 1, result: { of: 1 } })
    receive({ id: 3, error: { code: -5, message: 'No.' } })
    await expect(requests[1]).rejects.toMatchObject(failed)
    receive({ id: 4, result: { of: 4 } })
    expect(await Promise.allSettled([requests[0], requests[2], later])).toMatchObject([
      { value: { of: 1 } },
      { reason: { code: -5 } },
      { value: { of: 4 } },
    ])
  })

  it('as many requests fail as there are answers that name no request', async () => {
    const requests = [1, 2, 3].map(() => connection.request('tools/call', {}))
    receive(unnamed)
    receive(unnamed)
    receive({ id: 2, result: {} })
    await expect(requests[0]).rejects.toMatchObject(failed)
    await expect(requests[2]).rejects.toMatchObject(failed)
  })

  it('an answer that names no request fails a call whatever lasting requests are open, and leaves those', async () => {
    const settled = vi.fn()
    void connection.request('subscriptions/listen', {}, { isLasting: true }).then(settled, settled)
    const call = connection.request('tools/call', {})
    receive(unnamed)
    await expect(call).rejects.toMatchObject(failed)
    expect(settled).not.toHaveBeenCalled()
  })

  it('an answer that names no request counts once: two later calls need two more of them', async () => {
    const first = connection.request('tools/call', {})
    receive(unnamed)
    await expect(first).rejects.toMatchObject(failed)
    const others = [2, 3].map((n) => connection.request('tools/call', { n }))
    receive(unnamed)
    receive({ id: 2, result: { of: 2 } })
    await expect(others[1]).rejects.toMatchObject(failed)
    expect(await others[0]).toEqual({ of: 2 })
  })

  it('an answer that names no request is dropped when no request is open, and never fails a lasting one', async () => {
    receive(unnamed)
    const settled = vi.fn()
    void connection.request('subscriptions/listen', {}, { isLasting: true }).then(settled, settled)
    const call = connection.request('tools/call', {})
    receive({ id: 2, result: { of: 2 } })
    expect(await call).toEqual({ of: 2 })
    receive(unnamed)
    expect(settled).not.toHaveBeenCalled()
  })

  it('an answer that names no request is attributed to a notification if no method was found and no later request was answered', async () => {
    const unknown = { id: null, error: { code: -32_601, message: 'Method not found' } }
    connection.notify('notifications/initialized', {})
    const first = connection.request('tools/call', {})
    receive(unknown)
    receive({ id: 1, result: { of: 1 } })
    expect(await first).toEqual({ of: 1 })
    const second = connection.request('tools/call', {})
    receive(unknown)
    await expect(second).rejects.toMatchObject(failed)
  })
})

describe('an answer without an id that says that no method was found', () => {
  const unknown = { id: null, error: { code: -32_601, message: 'Method not found' } }
  const failed = { code: -32_603, message: expect.stringContaining('cannot be read') }

  it('an answer without an id that says that no method was found is attributed to the last notification, if no request after it was answered', async () => {
    connection.notify('notifications/initialized', {})
    const first = connection.request('tools/call', {})
    receive({ id: 1, result: {} })
    await first
    connection.notify('notifications/roots/list_changed', {})
    const second = connection.request('tools/call', {})
    receive(unknown)
    receive({ id: 2, result: { of: 2 } })
    expect(await second).toEqual({ of: 2 })
  })

  it('an answer without an id that says that no method was found fails a request if requests after the notification have been answered', async () => {
    const [first, second] = [connection.request('tools/call', {}), connection.request('tools/call', {})]
    connection.notify('notifications/roots/list_changed', {})
    const third = connection.request('tools/call', {})
    receive({ id: 3, result: {} })
    receive({ id: 1, result: {} })
    await Promise.all([first, third])
    receive(unknown)
    await expect(second).rejects.toMatchObject(failed)
  })

  it('an answer without an id fails a request if the error is another one', async () => {
    connection.notify('notifications/initialized', {})
    const only = connection.request('tools/call', {})
    receive({ id: null, error: { code: -32_600, message: 'Invalid' } })
    await expect(only).rejects.toMatchObject(failed)
  })
})

describe('the silence of a request', () => {
  const params = { _meta: { progressToken: 'mine' } }
  const progress = (token: number): boolean =>
    receive({ method: 'notifications/progress', params: { progressToken: token, progress: 1 } })

  it('the silence of a request is not broken by the progress of another', async () => {
    const settled = vi.fn()
    const silent = connection.request('tools/call', params).catch(settled)
    void connection.request('tools/call', params).catch(() => {})
    vi.advanceTimersByTime(halfAnHour - 1)
    progress(2)
    vi.advanceTimersByTime(1)
    await silent
    expect(settled).toHaveBeenCalledOnce()
    expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
  })

  it('the silence of a request ends with its answer: nothing is cancelled later', async () => {
    const answered = connection.request('tools/call', params)
    receive({ id: 1, result: {} })
    await answered
    vi.advanceTimersByTime(2 * halfAnHour)
    expect(sent).toHaveLength(1)
  })
})

describe('a notification that names a subscription', () => {
  const subscriptionId = 'io.modelcontextprotocol/subscriptionId'
  const changed = 'notifications/tools/list_changed'

  it('a notification that names a subscription is for that lasting request alone, unchanged', () => {
    const got: JsonRpcNotification[][] = [[], []]
    for (const each of got)
      void connection
        .request('subscriptions/listen', {}, { isLasting: true, onMessage: (told) => each.push(told) })
        .catch(() => {})
    const params = { a: 1, _meta: { [subscriptionId]: 2 } }
    receive({ method: changed, params })
    expect(got).toEqual([[], [{ jsonrpc: '2.0', method: changed, params }]])
    expect(notified).toEqual([])
  })

  it('a notification that names a subscription is dropped if it names another request, or none that is open', () => {
    const onMessage = vi.fn()
    void connection.request('tools/call', {}, { onMessage }).catch(() => {})
    for (const id of [1, 7]) receive({ method: changed, params: { _meta: { [subscriptionId]: id } } })
    expect(onMessage).not.toHaveBeenCalled()
    expect(notified).toEqual([])
  })
})

it('progress reaches its request whether its token comes back as a number or as text', async () => {
  const heard: unknown[] = []
  const params = { _meta: { progressToken: 'x' } }
  const onMessage = ({ params: told }: JsonRpcNotification): void => void heard.push(told)
  const answer = connection.request('tools/call', params, { onMessage })
  receive({ method: 'notifications/progress', params: { progressToken: '1', progress: 1 } })
  receive({ method: 'notifications/progress', params: { progressToken: 1, progress: 2 } })
  receive({ method: 'notifications/progress', params: { progressToken: '1x', progress: 3 } })
  receive({ id: 1, result: {} })
  await answer
  expect(heard).toEqual([1, 2].map((progress) => ({ progressToken: 'x', progress })))
})

it('a request of the process is answered while the process lives', () => {
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

it('other notifications are handed on', () => {
  receive({ method: 'notifications/message' })
  receive({ method: 'notifications/cancelled', params: { requestId: 'a' } })
  expect(notified).toEqual(['notifications/message', 'notifications/cancelled'])
})

it('open questions of a process are withdrawn when it ends', () => {
  const questions: ((response: never) => void)[] = []
  const asking = new ProcessConnection(() => {}, {
    onNotification: ({ method, params }) => void notified.push(`${method} ${String(params?.['requestId'])}`),
    onRequest: (_request, answer) => void questions.push(answer),
  })
  const pose = (id: string): boolean => asking.receive({ jsonrpc: '2.0', id, method: 'roots/list' })
  pose('a')
  pose('b')
  questions[0]?.({ jsonrpc: '2.0', id: 'a', result: {} } as never)
  asking.fail(new Error('It is over.'))
  asking.fail(new Error('Again.'))
  expect(notified).toEqual(['notifications/cancelled b'])
})

it('a process that has ended gets no message', async () => {
  connection.notify('notifications/initialized', { a: 1 })
  expect(sent).toEqual([{ jsonrpc: '2.0', method: 'notifications/initialized', params: { a: 1 } }])
  connection.fail(new Error('It is over.'))
  connection.fail(new Error('Another reason.'))
  connection.notify('notifications/initialized', {})
  expect(sent).toHaveLength(1)
  await expect(connection.request('tools/call', {})).rejects.toThrow('It is over.')
})
