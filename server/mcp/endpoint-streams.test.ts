import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '../core/store-unavailable.ts'
import type { SignedInCaller } from '../core/tokens/caller.ts'
import { createFakeRuntime, type FakeRuntime } from '../../tests/support/server/fake-runtime.ts'
import {
  sendMessage,
  type MessageReader,
  readMessages,
  request,
  send2026,
} from '../../tests/support/server/mcp/mcp-message.ts'
import {
  callerSample,
  callsSample,
  endpointConfigSample,
  type WaitingCall,
  waitingTool,
} from '../../tests/support/server/mcp/tool-fixture.ts'
import type { ModuleEndpoint } from './endpoint-config.ts'
import { createPlainEndpoint } from './plain/plain-endpoint.ts'
import { createSdkEndpoint } from './sdk/sdk-endpoint.ts'
import type { ToolModule } from './tools/tool-module.ts'

const start = 1_000_000
/** Open streams are looked at once in this time. */
const checkMs = 15_000

let runtime: FakeRuntime
let endpoint: ModuleEndpoint
let live: boolean | Error

const ada = (): SignedInCaller => ({
  ...callerSample,
  expiresAt: start + 600,
  isLive: async () => {
    if (live instanceof Error) throw live
    return live
  },
})

let calls: WaitingCall[]
/** A plain module and, for the SDK's endpoint, the same one with something to register. */
const plain = (): ToolModule => ({ tools: [waitingTool(calls)], start() {} })
const registering = (): ToolModule => ({ ...plain(), register() {} })

const limits = { total: 3, perUser: 2 }

describe.each<[string, () => ModuleEndpoint]>([
  ['the plain endpoint', () => createPlainEndpoint({ ...endpointConfigSample(plain()), runtime }, limits)],
  [
    "the SDK's endpoint",
    () =>
      createSdkEndpoint(
        { ...endpointConfigSample(registering()), runtime },
        { sessions: { total: 1, perUser: 1, idleSeconds: 1 }, subscriptions: limits },
      ),
  ],
])('streams of %s', (_name, create) => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    calls = []
    live = true
    runtime = createFakeRuntime(start)
    endpoint = create()
  })
  afterEach(async () => {
    await endpoint.close()
    vi.useRealTimers()
  })

  const waiting = { name: 'wait', arguments: {}, _meta: { progressToken: 'p' } }
  const everything = { toolsListChanged: true }
  const listen = (notifications: unknown, caller: SignedInCaller = ada()): Promise<Response> =>
    send2026(endpoint, caller, 'subscriptions/listen', { notifications })

  const methodsOf = async (stream: MessageReader): Promise<(string | undefined)[]> =>
    (await stream.rest()).map(({ message }) => message.method)

  async function startCall(caller: SignedInCaller = ada()): Promise<MessageReader> {
    return readMessages(await send2026(endpoint, caller, 'tools/call', waiting))
  }

  async function settled(): Promise<void> {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }

  describe('subscriptions/listen (MCP 2026-07-28)', () => {
    const of = (sub: string): SignedInCaller => ({
      ...ada(),
      user: { ...ada().user, id: `https://provider#${sub}` },
    })
    const isStream = (response: Response): boolean =>
      response.headers.get('content-type') === 'text/event-stream'

    it('subscriptions/listen is limited for each user, over all grants', async () => {
      const first = readMessages(await listen(everything))
      await listen(everything)
      expect(await (await listen(everything, { ...ada(), grantId: 'grant-2' })).json()).toMatchObject({
        id: 1,
        error: { code: -32_603, message: expect.stringMatching(/limit/i) as string },
      })
      await first.cancel()
      await settled()
      expect(isStream(await listen(everything))).toBe(true)
    })

    it('subscriptions/listen is bounded for many concurrent requests as well', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => listen(everything)))
      expect(answers.filter(isStream)).toHaveLength(2)
    })

    it('subscriptions/listen is limited in total: only the user with the most streams makes room, with a closing result', async () => {
      const first = readMessages(await listen(everything))
      await listen(everything)
      expect(isStream(await listen(everything, of('bob')))).toBe(true)
      expect(isStream(await listen(everything, of('cy')))).toBe(true)
      expect((await first.rest()).at(-1)?.message).toMatchObject({
        id: 1,
        result: { resultType: 'complete' },
      })
      expect(isStream(await listen(everything, of('dee')))).toBe(false)
    })

    it('subscriptions/listen gives its place back when it is refused or requests no notifications', async () => {
      for (let time = 0; time < 3; time += 1) {
        expect(await (await listen(undefined)).json()).toMatchObject({
          error: { code: -32_602 },
        })
        await readMessages(await listen({})).rest()
      }
      expect(isStream(await listen(everything))).toBe(true)
    })

    it('subscriptions/listen is refused when its filter is too long to store', async () => {
      const resourceSubscriptions = Array.from({ length: 10_000 }, (_each, index) => `test://${index}`)
      const refused = await listen({ resourceSubscriptions })
      expect(refused.status).toBe(400)
      expect(await refused.json()).toMatchObject({ id: 1, error: { code: -32_602 } })
    })

    it.each<[string, () => void]>([
      ['the grant has ended', () => (live = false)],
      ['the token has run out', () => runtime.advance(600)],
    ])(
      'MCP transport Subscriptions: subscriptions/listen ends, with its result, within 15 seconds after %s',
      async (_when, happen) => {
        const stream = readMessages(await listen(everything))
        await vi.advanceTimersByTimeAsync(2 * checkMs)
        endpoint.notify.toolsChanged()
        happen()
        await vi.advanceTimersByTimeAsync(checkMs)
        const messages = await stream.rest()
        expect(messages.map(({ message }) => message.method ?? message.id)).toEqual([
          'notifications/subscriptions/acknowledged',
          'notifications/tools/list_changed',
          1,
        ])
        expect(messages.at(-1)?.message.result).toMatchObject({
          resultType: 'complete',
          _meta: { 'io.modelcontextprotocol/subscriptionId': 1 },
        })
      },
    )

    it('subscriptions/listen goes on while the store is down', async () => {
      const stream = readMessages(await listen(everything))
      live = new StoreUnavailableError('away', { cause: undefined })
      await vi.advanceTimersByTimeAsync(2 * checkMs)
      endpoint.notify.toolsChanged()
      await stream.next()
      expect((await stream.next())?.message.method).toBe('notifications/tools/list_changed')
    })

    it('subscriptions/listen is cut when its client leaves a megabyte unread, and others go on', async () => {
      const lazy = readMessages(await listen(everything))
      const eager = readMessages(await listen(everything))
      // Each notice has some 200 bytes.
      const count = 8000
      let read = 0
      const reading = (async () => {
        for (; read <= count; read += 1) await eager.next()
      })()
      for (let sent = 0; sent < count; sent += 1) {
        endpoint.notify.toolsChanged()
        if (sent % 100 === 0) await settled()
      }
      await reading
      expect(read).toBe(count + 1)
      const left = await methodsOf(lazy)
      expect(left.length).toBeLessThan(count)
      expect(left.length).toBeGreaterThan(1000)
    })

    it('subscriptions/listen ends with a result when the server drains, and no new one begins', async () => {
      const stream = readMessages(await listen(everything))
      const call = await startCall()
      endpoint.endStreams()
      expect((await stream.rest()).at(-1)?.message).toMatchObject({
        id: 1,
        result: { resultType: 'complete' },
      })
      expect((await readMessages(await listen(everything)).rest()).at(-1)?.message).toMatchObject({ id: 1 })
      calls[0]?.go()
      expect((await call.rest()).at(-1)?.message.result).toMatchObject({ content: [{ text: 'done' }] })
    })
  })

  describe('a call of 2026-07-28 that streams', () => {
    it('a call of 2026-07-28 that streams sends progress, then the result', async () => {
      const stream = await startCall()
      await settled()
      calls[0]?.progress()
      calls[0]?.go()
      const messages = await stream.rest()
      expect(messages.map(({ message }) => message.method ?? 'result')).toEqual([
        'notifications/progress',
        'notifications/progress',
        'result',
      ])
    })

    it.each<[string, (stream: MessageReader, client: AbortController) => Promise<void> | void]>([
      ['closes the stream', (stream) => stream.cancel()],
      ['hangs up', (_stream, client) => client.abort()],
    ])(
      'MCP transport Cancellation: a call that streams is cancelled when the client %s (MCP 2026-07-28 cancellation)',
      async (_how, leave) => {
        const client = new AbortController()
        const records: unknown[] = []
        const stream = readMessages(
          await send2026(endpoint, ada(), 'tools/call', waiting, {
            signal: client.signal,
            calls: callsSample(ada(), (_event, fields) => void records.push(fields)),
          }),
        )
        await settled()
        expect(calls[0]?.aborted).toBe(false)
        await leave(stream, client)
        await settled()
        expect(calls[0]?.aborted).toBe(true)
        calls[0]?.go()
        await settled()
        expect(records).toMatchObject([{ outcome: 'cancelled' }])
      },
    )

    it('a call that streams goes on when its token expires', async () => {
      const stream = await startCall()
      await settled()
      runtime.advance(600)
      live = false
      await vi.advanceTimersByTimeAsync(2 * checkMs)
      calls[0]?.go()
      expect((await stream.rest()).at(-1)?.message.result).toMatchObject({ content: [{ text: 'done' }] })
    })

    it('a call that streams ends a quarter of an hour after its token expired, as the grant can no longer be checked', async () => {
      const stream = await startCall()
      await settled()
      runtime.advance(600 + 900)
      await vi.advanceTimersByTimeAsync(checkMs)
      expect(await methodsOf(stream)).toEqual(['notifications/progress'])
      await settled()
      expect(calls[0]?.aborted).toBe(true)
    })

    it.each(['2026-07-28', '2025-11-25'])(
      'a call that streams ends, and the tool too, when the grant has ended (%s)',
      async (revision) => {
        const stream =
          revision === '2026-07-28'
            ? await startCall()
            : readMessages(await sendMessage(endpoint, ada(), request('tools/call', waiting)))
        await settled()
        live = false
        await vi.advanceTimersByTimeAsync(checkMs)
        expect(await methodsOf(stream)).toEqual(['notifications/progress'])
        await settled()
        expect(calls[0]?.aborted).toBe(true)
      },
    )
  })
})
