import { beforeEach, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcNotification } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { SubscriptionFilter } from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import type { ChangeListener } from '../../subscriptions.ts'
import type { GreetedProcess } from './handshake.ts'
import { ProcessChanges } from './process-changes.ts'
import { ProcessConnection } from './process-connection.ts'

const offered = { tools: { listChanged: true }, resources: { subscribe: true } }
const tools: SubscriptionFilter = { toolsListChanged: true }
const one: SubscriptionFilter = { resourceSubscriptions: ['test://one'] }

/** A process, what it gets, and what it says. */
function createProcess(clients?: ProcessChanges): {
  process: GreetedProcess
  sent: JsonObject[]
  say: (method: string, params?: JsonObject, id?: number) => void
} {
  const sent: JsonObject[] = []
  const connection = new ProcessConnection((message) => sent.push(message as unknown as JsonObject), {
    onNotification: (notification) => clients?.report(notification),
    onRequest() {},
  })
  return {
    sent,
    say: (method, params = {}, id) => {
      const _meta = id === undefined ? {} : { _meta: { 'io.modelcontextprotocol/subscriptionId': id } }
      connection.receive({ jsonrpc: '2.0', method, params: { ...params, ..._meta } })
    },
    process: {
      connection,
      era: 'modern',
      revision: '2026-07-28',
      serverInfo: { name: 'changing', version: '1' },
      presentation: { capabilities: offered },
      envelope: { of: 'the door' },
    },
  }
}

let changes: ProcessChanges
beforeEach(() => {
  changes = new ProcessChanges()
})

const listen = async (filter: SubscriptionFilter): Promise<{ listener: ChangeListener; got: unknown[] }> => {
  const got: unknown[] = []
  const send = ({ method, params }: Pick<JsonRpcNotification, 'method' | 'params'>): void =>
    void got.push(params?.['uri'] ?? method)
  return { listener: await changes.listen({ filter, send }), got }
}
const updated = 'notifications/resources/updated'
const toolsChanged = 'notifications/tools/list_changed'

it('each subscription is a request of its own, which is cancelled when it is removed', async () => {
  const { process, sent } = createProcess()
  changes.attach(process, offered)
  const { listener } = await listen(tools)
  await listen(one)
  expect(sent).toMatchObject([
    { id: 1, method: 'subscriptions/listen', params: { notifications: tools, _meta: { of: 'the door' } } },
    { id: 2, method: 'subscriptions/listen', params: { notifications: one } },
  ])
  changes.remove(listener)
  expect(sent[2]).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 1 } })
})

it('a change that names a subscription reaches that one alone, and only what it asked for', async () => {
  const { process, say } = createProcess(changes)
  changes.attach(process, offered)
  const [first, second] = [await listen({ ...tools, ...one }), await listen({ ...tools, ...one })]
  say(toolsChanged, {}, 1)
  say(updated, { uri: 'test://one' }, 2)
  say(updated, { uri: 'test://other' }, 2)
  say('notifications/subscriptions/acknowledged', { notifications: tools }, 1)
  expect([first.got, second.got]).toEqual([[toolsChanged], ['test://one']])
})

it('a change that names no subscription reaches those that asked for it', async () => {
  const { process, say } = createProcess(changes)
  changes.attach(process, offered)
  const [first, second] = [await listen(tools), await listen(one)]
  say(toolsChanged)
  say(updated, { uri: 'test://one' })
  say(updated, { uri: 'test://other' })
  expect([first.got, second.got]).toEqual([[toolsChanged], ['test://one']])
})

it('the next process is asked for the subscriptions that are left', async () => {
  const [before, after] = [createProcess(changes), createProcess(changes)]
  changes.attach(before.process, offered)
  const [gone, left] = [await listen(tools), await listen(one)]
  changes.remove(gone.listener)
  before.process.connection.fail(new Error('It has ended.'))
  changes.attach(after.process, offered)
  expect(after.sent).toMatchObject([{ params: { notifications: one } }])
  after.say(updated, { uri: 'test://one' }, 1)
  expect([gone.got, left.got]).toEqual([[], ['test://one']])
})

it('changes that the process does not offer are neither asked for nor acknowledged', async () => {
  const { process, sent } = createProcess()
  changes.attach(process, { resources: { subscribe: false } })
  const { listener } = await listen({ ...tools, ...one })
  expect(listener.filter).toEqual({})
  expect(sent).toEqual([])
})

it('an adapter gets an acknowledgement and changes, until its signal is aborted', async () => {
  const { process, sent, say } = createProcess()
  changes.attach(process, offered)
  const got: JsonRpcNotification[] = []
  const controller = new AbortController()
  const served = changes.serve(
    { notifications: { ...tools, promptsListChanged: true } },
    { signal: controller.signal, onMessage: (notification) => got.push(notification) },
  )
  await Promise.resolve()
  say(toolsChanged, {}, 1)
  controller.abort()
  expect(await served).toEqual({ resultType: 'complete' })
  say(toolsChanged, {}, 1)
  expect(got.map(({ method }) => method)).toEqual(['notifications/subscriptions/acknowledged', toolsChanged])
  expect(got[0]?.params).toEqual({ notifications: tools })
  expect(sent.at(-1)).toMatchObject({ method: 'notifications/cancelled' })
})

it('an adapter that has left already is not served', async () => {
  const served = changes.serve({ notifications: tools }, { signal: AbortSignal.abort() })
  expect(await served).toEqual({ resultType: 'complete' })
})

it('close ends each subscription once', async () => {
  let ends = 0
  await changes.listen({ filter: tools, send() {}, end: () => void (ends += 1) })
  changes.close()
  changes.close()
  expect(ends).toBe(1)
})
