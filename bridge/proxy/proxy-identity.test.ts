import { describe, expect, it } from 'vitest'
import {
  type Era,
  onCall,
  open,
  own,
  startProxy,
  startServer,
  type Rig,
  type RigOptions,
} from '../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote } from '../../tests/support/remote/remote.ts'
import type { Json, Received } from '../../tests/support/remote/received.ts'

const pairs = [
  ['legacy', 'legacy'],
  ['legacy', 'modern'],
  ['modern', 'modern'],
] as const

/** A client that has opened its connection, and a server whose tool calls the test answers itself. */
async function connect(
  [client, server]: readonly [Era, Era],
  take: (call: Received) => void,
  options: RigOptions = {},
): Promise<{
  rig: Rig
  to: Remote
  call(id: number | string, text: string): Promise<Json>
  cancel(id: number | string): void
}> {
  const to = await startServer({ era: server, handle: onCall(take) })
  const rig = startProxy(to, options)
  await open(rig, client)
  const params = own(client)
  await rig.ask('tools/list', params, 'list')
  return {
    rig,
    to,
    call: (id, text) => rig.ask('tools/call', { ...params, name: 'echo', arguments: { text } }, id),
    cancel(id) {
      rig.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { ...params, requestId: id } })
    },
  }
}

/** The text that a call was made with. */
const textIn = ({ body }: Received): string => body['params'].arguments.text as string

function response(id: unknown, text: string): Json {
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', content: [{ type: 'text', text }] } }
}

const textOf = (answer: Json): string => answer['result'].content[0].text as string

function streamed(call: Received, messages: readonly Json[]): void {
  call.events().end(messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join(''))
}

describe.each(pairs)('a %s client of a %s server', (...pair) => {
  it('a client gets its own result after one to an unknown request', async () => {
    const { call } = await connect(pair, (asked) =>
      streamed(asked, [response('of nobody', 'foreign'), response(asked.body['id'], textIn(asked))]),
    )
    expect(textOf(await call(11, 'own'))).toBe('own')
  })

  it('a client with a text id gets its own result after one under the same number', async () => {
    const { call } = await connect(pair, (asked) => {
      const { id } = asked.body
      // The adapter has numbers of its own.
      const other = typeof id === 'string' ? Number(id) : -1
      streamed(asked, [response(other, 'foreign'), response(id, textIn(asked))])
    })
    expect(textOf(await call('12', 'own'))).toBe('own')
  })

  it('a client with a number id gets a result whose id is text', async () => {
    const { call } = await connect(pair, (asked) =>
      streamed(asked, [response(String(asked.body['id']), textIn(asked))]),
    )
    expect(textOf(await call(11, 'own'))).toBe('own')
  })

  it('a client gets its own result after that of another call in its stream', async () => {
    const calls: Received[] = []
    const { call } = await connect(pair, (asked) => void calls.push(asked))
    const answered = Promise.all([call(11, 'one'), call(12, 'two')])
    await expect.poll(() => calls.length).toBe(2)
    const results = calls.map((asked) => response(asked.body['id'], textIn(asked)))
    for (const [index, asked] of calls.entries())
      streamed(asked, index === 0 ? results.toReversed() : results)
    expect((await answered).map(textOf)).toEqual(['one', 'two'])
  })

  it('requests 11 and "11" at once get their results under their ids', async () => {
    const calls: Received[] = []
    const { call, rig } = await connect(pair, (asked) => void calls.push(asked))
    const answered = Promise.all([call(11, 'number'), call('11', 'text')])
    await expect.poll(() => calls.length).toBe(2)
    for (const asked of calls.toReversed()) streamed(asked, [response(asked.body['id'], textIn(asked))])
    const answers = await answered
    expect(answers.map(({ id }) => id as unknown)).toEqual([11, '11'])
    expect(answers.map(textOf)).toEqual(['number', 'text'])
    expect(rig.messages.filter(({ error }) => error !== undefined)).toEqual([])
  })

  it.each([
    [11, '11'],
    ['11', 11],
  ] as const)('cancelling %j does not cancel %j', async (cancelled, kept) => {
    const calls: Received[] = []
    const { call, cancel, rig, to } = await connect(pair, (asked) => void calls.push(asked))
    const answered = call(kept, 'kept')
    void call(cancelled, 'cancelled')
    await expect.poll(() => calls.length).toBe(2)
    const gone = calls.find((asked) => textIn(asked) === 'cancelled')
    let isClosed = false
    gone?.response.once('close', () => (isClosed = true))
    cancel(cancelled)
    // In 2025-11-25 a notification cancels at the server, in 2026-07-28 the end of the connection.
    const isTold = (): boolean => to.methods().includes('notifications/cancelled')
    await expect.poll(() => (pair[1] === 'legacy' ? isTold() : isClosed)).toBe(true)
    for (const asked of calls)
      if (asked !== gone) streamed(asked, [response(asked.body['id'], textIn(asked))])
    const answer = await answered
    expect([answer['id'], textOf(answer)]).toEqual([kept, 'kept'])
    expect(rig.messages.some((message) => message['id'] === cancelled && 'result' in message)).toBe(false)
  })

  it('cancelling an answered or unknown id sends nothing to the server', async () => {
    const { call, cancel, rig, to } = await connect(pair, (asked) =>
      streamed(asked, [response(asked.body['id'], textIn(asked))]),
    )
    expect(textOf(await call(11, 'over'))).toBe('over')
    for (const id of [11, 'nobody']) cancel(id)
    rig.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: {} })
    expect(textOf(await call(12, 'next'))).toBe('next')
    expect(to.methods()).not.toContain('notifications/cancelled')
  })

  const cuts: Record<string, (asked: Received) => void> = {
    'before the head of the answer': ({ response: cut }) => void cut.socket?.destroy(),
    'by a reset': ({ response: cut }) => void cut.socket?.resetAndDestroy(),
    'within a JSON answer': ({ response: cut }) => {
      cut.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000' })
      cut.write('{"jsonrpc":"2.0",', () => cut.socket?.destroy())
    },
    'within a stream': (asked) => {
      const cut = asked.events()
      cut.write(': working\n\n', () => cut.socket?.destroy())
    },
    'at the proper end of a stream without an answer': (asked) => void asked.events(': working\n\n').end(),
  }

  it.each(Object.keys(cuts))('a call is sent once when its connection is cut %s', async (how) => {
    let made = 0
    const { call, to } = await connect(
      pair,
      (asked) => {
        made += 1
        if (textIn(asked) === 'cut') cuts[how]?.(asked)
        else streamed(asked, [response(asked.body['id'], textIn(asked))])
      },
      { retryMs: 5000 },
    )
    // On a connection that was used before, too: there the end of it may be older than the request.
    expect(textOf(await call(11, 'before'))).toBe('before')
    expect(await call(12, 'cut')).toHaveProperty('error.message')
    expect(textOf(await call(13, 'after'))).toBe('after')
    expect(made).toBe(3)
    expect(to.methods().filter((method) => method === 'tools/call')).toHaveLength(3)
  })
})

it('a call is sent once when the server falls silent, in each pair of revisions', async () => {
  const outcomes = pairs.map(async ([client, server]) => {
    let made = 0
    const to = await startServer({
      era: server,
      handle({ body: { method }, response }) {
        if (method === 'tools/call') made += 1
        // The bridge's own requests to find out whether the server is up.
        else if (made > 0) response.destroy()
        return made > 0
      },
    })
    const rig = startProxy(to, { watchdogMs: 50, retryMs: 5000 })
    await open(rig, client)
    const params = { ...own(client), name: 'echo', arguments: {} }
    expect(await rig.ask('tools/call', params, 11)).toHaveProperty('error.message')
    return made
  })
  expect(await Promise.all(outcomes)).toEqual(pairs.map(() => 1))
})
