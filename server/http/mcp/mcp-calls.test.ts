import { afterEach, describe, expect, it } from 'vitest'
import type { Settings } from '../../config/setting-table.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'
import {
  account,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { message2026, notification, request } from '../../../tests/support/server/mcp/mcp-message.ts'
import { signInToWebApp } from '../../../tests/support/server/web-app-session.ts'

let drawbridge: DrawbridgeFixture
let ran = 0
let go: (() => void)[] = []

const module: ToolModule = {
  scopes: { 'notes:write': 'Change your notes' },
  tools: [
    {
      name: 'hello',
      call() {
        ran += 1
        return 'Hello.'
      },
    },
    { name: 'write', scope: 'notes:write', call: () => 'Written.' },
    {
      name: 'wait',
      async call(_input, { progress }) {
        progress(1)
        await new Promise<void>((resolve) => go.push(resolve))
        return 'Done.'
      },
    },
  ],
}

afterEach(async () => {
  for (const end of go) end()
  ran = 0
  go = []
  await drawbridge.close()
})

async function start(settings: Settings): Promise<string> {
  drawbridge = await startDrawbridge(settings, undefined, module)
  return (await drawbridge.connect()).tokens.access_token
}

const call = (name: string, id: string | number = 1, params: object = {}): object =>
  request('tools/call', { name, arguments: {}, ...params }, id)
const send = (token: string, message: unknown): Promise<Response> =>
  drawbridge.mcp(message, { authorization: `Bearer ${token}` })

const records = (): Record<string, unknown>[] => drawbridge.events('tool_called')

describe('a user who sends too much', () => {
  it('a user over the call limit gets 429, when to try again, and a JSON-RPC error with the id; the tool is not run', async () => {
    const token = await start({ callLimit: '2/m' })
    await send(token, call('hello'))
    await send(token, call('hello'))
    const refused = await send(token, call('hello', 'third'))
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('30')
    expect(await refused.json()).toMatchObject({ jsonrpc: '2.0', id: 'third', error: { code: -32000 } })
    expect(ran).toBe(2)
    await send(token, call('nothing'))
    expect(records().map(({ tool, outcome, unknown }) => [tool, outcome, unknown])).toEqual([
      ['hello', 'ok', undefined],
      ['hello', 'ok', undefined],
      ['hello', 'refused_limit', undefined],
      ['nothing', 'refused_limit', true],
    ])
    drawbridge.runtime.advance(30)
    expect((await send(token, call('hello'))).status).toBe(200)
  })

  it('a batch over the call limit gets an error for each of its requests, and no call is made', async () => {
    const token = await start({ callLimit: '2/m' })
    const refused = await send(token, [call('hello', 1), call('hello', 2), call('hello', 3)])
    expect(refused.status).toBe(429)
    expect(((await refused.json()) as { id: number }[]).map(({ id }) => id)).toEqual([1, 2, 3])
    expect(ran).toBe(0)
  })

  it('a user is refused by the size of a message, too', async () => {
    const token = await start({ callLimit: '2/m' })
    const large = request('ping', { x: 'x'.repeat(66_000) })
    expect((await send(token, large)).status).toBe(200)
    expect((await send(token, large)).status).toBe(429)
  })

  it('a user has one call limit for all credentials, and others have their own', async () => {
    const token = await start({ callLimit: '2/m' })
    const { access_token: own } = await signInToWebApp(drawbridge)
    await drawbridge.admin.createUser({ ...account, email: 'eve@example.com' })
    const { access_token: other } = await signInToWebApp(drawbridge, 'eve@example.com')
    const statuses = []
    for (const each of [token, own, token, own, other])
      statuses.push((await send(each, call('hello'))).status)
    expect(statuses).toEqual([200, 200, 429, 429, 200])
  })
})

describe('a user with calls in progress', () => {
  it.each([
    ['answered by JSON', {}],
    ['answered by a stream', { _meta: { progressToken: 'p' } }],
  ])('a user has no more calls in progress than the limit, when they are %s', async (_how, params) => {
    const token = await start({ callsAtOnce: '1', callLimit: 'off' })
    const running = send(token, call('wait', 1, params))
    await expect.poll(() => go.length).toBe(1)
    for (const more of [call('hello'), request('ping')]) expect((await send(token, more)).status).toBe(429)
    expect((await send(token, notification('notifications/initialized'))).status).toBe(202)
    go[0]?.()
    await (await running).text()
    expect((await send(token, call('hello'))).status).toBe(200)
  })

  it('a user with calls in progress may listen for notifications, which has a limit of its own', async () => {
    const token = await start({ callsAtOnce: '1', callLimit: 'off' })
    const { message, headers } = message2026('subscriptions/listen', { notifications: {} })
    const authorization = `Bearer ${token}`
    const listening = await drawbridge.mcp(message, { authorization, ...headers })
    expect([listening.status, listening.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect((await send(token, call('hello'))).status).toBe(200)
    await listening.body?.cancel()
  })

  it('a user has room for another call when one is at fault, or its client has left', async () => {
    const token = await start({ callsAtOnce: '1', callLimit: 'off' })
    for (const name of ['nothing', 'hello']) expect((await send(token, call(name))).status).toBe(200)
    const response = await send(token, call('wait', 1, { _meta: { progressToken: 'p' } }))
    expect((await send(token, call('hello'))).status).toBe(429)
    await response.body?.cancel()
    await expect.poll(async () => (await send(token, call('hello'))).status).toBe(200)
  })
})

it('a user has room for the next call after one during which the server failed', async () => {
  let isBroken = false
  drawbridge = await startDrawbridge({ callsAtOnce: '1', callLimit: 'off' }, undefined, {
    ...module,
    register() {
      if (isBroken) throw new Error('broken')
    },
  })
  const { access_token: token } = (await drawbridge.connect()).tokens
  isBroken = true
  for (let sent = 0; sent < 2; sent += 1) expect((await send(token, call('hello'))).status).toBe(500)
})

describe('the record of a call', () => {
  it('the record of a call that lacks a scope says so', async () => {
    const token = await start({})
    expect((await send(token, call('write'))).status).toBe(403)
    expect(records()).toEqual([
      expect.objectContaining({
        audit: true,
        tool: 'write',
        outcome: 'refused_scope',
        credential: 'access_token',
      }),
    ])
  })

  it('the record of a call has the trace of the message or of the request, and the revision', async () => {
    const token = await start({})
    const traceparent = (digit: string): string => `00-${digit.repeat(32)}-${'1'.repeat(16)}-01`
    await send(token, call('hello', 1, { _meta: { traceparent: traceparent('a') } }))
    await drawbridge.mcp(call('hello'), {
      authorization: `Bearer ${token}`,
      traceparent: traceparent('b'),
      'mcp-protocol-version': '2025-06-18',
    })
    expect(records().map(({ trace_id, revision }) => [trace_id, revision])).toEqual([
      ['a'.repeat(32), undefined],
      ['b'.repeat(32), '2025-06-18'],
    ])
    // Every log line of the request has it.
    expect(drawbridge.logged().match(/"trace_id":"b{32}"/g)?.length).toBeGreaterThan(1)
  })
})
