import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod/v4'
import type { SignedInCaller } from '../../core/tokens/caller.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import {
  initialize,
  type MessageReader,
  notification,
  readMessages,
  request,
  sendMessage,
  toolCall,
} from '../../../tests/support/server/mcp/mcp-message.ts'
import { callerSample, endpointConfigSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import type { ModuleEndpoint } from '../endpoint-config.ts'
import { createSdkEndpoint } from './sdk-endpoint.ts'
import type { ToolModule } from '../tools/tool-module.ts'

const ada: SignedInCaller = callerSample
const eve: SignedInCaller = {
  ...callerSample,
  user: { ...callerSample.user, id: 'https://provider#eve', sub: 'eve' },
  grantId: 'grant-eve',
}

function person(name: string): SignedInCaller {
  return { ...eve, user: { ...eve.user, id: name, sub: name }, grantId: name }
}
const people: readonly SignedInCaller[] = ['b', 'c', 'd', 'e'].map(person)

let runtime: FakeRuntime
let endpoint: ModuleEndpoint
let running: { go: () => void; aborted: boolean }[]

const empty = z.object({})
const said = (text: string): { content: [{ type: 'text'; text: string }] } => ({
  content: [{ type: 'text', text }],
})

const module: ToolModule = {
  tools: [{ name: 'plain', call: (_input, { user }) => `plain ${user.sub}` }],
  asksClient: true,
  start() {},
  register(server, context) {
    server.server.registerCapabilities({ resources: { subscribe: true } })
    server.registerResource('watched', 'test://watched', {}, ({ href }) => ({
      contents: [{ uri: href, text: 'x' }],
    }))
    server.registerTool('ask', { inputSchema: empty }, async (_input, { mcpReq }) => {
      const { action } = await mcpReq.elicitInput({
        message: 'Well?',
        requestedSchema: { type: 'object', properties: {} },
      })
      return said(action)
    })
    server.registerTool('sample', { inputSchema: empty }, async (_input, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling({ messages: [], maxTokens: 1 })
      return said(JSON.stringify(content))
    })
    server.registerPrompt('ask', {}, async ({ mcpReq }) => {
      const { action } = await mcpReq.elicitInput({
        message: 'Well?',
        requestedSchema: { type: 'object', properties: {} },
      })
      return { messages: [{ role: 'user', content: { type: 'text', text: action } }] }
    })
    server.registerTool('whose', { inputSchema: empty }, async (_input, { mcpReq }) => {
      const call = { go: () => {}, aborted: false }
      const going = new Promise<void>((resolve) => (call.go = resolve))
      mcpReq.signal.addEventListener('abort', () => (call.aborted = true))
      running.push(call)
      await going
      return said(context.providerToken())
    })
  },
}

beforeEach(() => {
  running = []
  runtime = createFakeRuntime(1_000_000)
  endpoint = createSdkEndpoint(
    { ...endpointConfigSample(module), runtime },
    { sessions: { total: 4, perUser: 2, idleSeconds: 1800 }, subscriptions: { total: 10, perUser: 2 } },
  )
})
afterEach(() => endpoint.close())

const opening = initialize({ elicitation: {}, sampling: {} })

function inSession(
  id: string,
  body?: unknown,
  caller: SignedInCaller = ada,
  more: object = {},
): Promise<Response> {
  const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25', ...more }
  return sendMessage(endpoint, caller, body, { headers })
}

async function open(caller: SignedInCaller = ada): Promise<string> {
  const response = await sendMessage(endpoint, caller, opening)
  const id = response.headers.get('mcp-session-id') ?? ''
  await readMessages(response).rest()
  await inSession(id, notification('notifications/initialized'), caller)
  return id
}

const listen = (
  id: string,
  caller: SignedInCaller = ada,
  headers: Record<string, string> = {},
): Promise<Response> =>
  sendMessage(endpoint, caller, undefined, { method: 'GET', headers: { 'mcp-session-id': id, ...headers } })

const endSession = (id: string, caller: SignedInCaller = ada): Promise<Response> =>
  sendMessage(endpoint, caller, undefined, { method: 'DELETE', headers: { 'mcp-session-id': id } })

async function isOpen(id: string, caller: SignedInCaller = ada): Promise<boolean> {
  const response = await inSession(id, request('ping'), caller)
  await response.text()
  return response.status === 200
}

async function textOf(stream: MessageReader): Promise<unknown> {
  const result = (await stream.rest()).at(-1)?.message.result
  return (result?.['content'] as [{ text: string }] | undefined)?.[0].text
}

/** Resolves when that many calls of `whose` wait. */
async function waitForCalls(count: number): Promise<void> {
  await expect.poll(() => running.length, { interval: 2 }).toBeGreaterThanOrEqual(count)
}

describe('a session of the revisions up to 2025-11-25', () => {
  it('MCP security Session-Hijacking: a session begins with initialize, has an id that cannot be guessed, and ends with DELETE', async () => {
    const [id, other] = [await open(), await open()]
    expect(id).toMatch(/^[\w-]{32}$/)
    expect(other).not.toBe(id)
    const list = await readMessages(await inSession(id, request('tools/list'))).rest()
    const names = ['plain', 'ask', 'sample', 'whose']
    expect(list.at(-1)?.message.result).toMatchObject({ tools: names.map((name) => ({ name })) })
    expect((await endSession(id)).status).toBe(200)
    expect((await inSession(id, request('ping'))).status).toBe(404)
    expect(await isOpen(other)).toBe(true)
  })

  it.each<[string, SignedInCaller]>([
    ['another user', eve],
    ['another grant of the same user', { ...ada, grantId: 'grant-2' }],
    ['another workspace of the same grant', { ...ada, workspace: { id: 'b', name: 'B' } }],
    ['the session of the provider', { ...ada, grantId: undefined, credential: 'provider_token' }],
  ])('a session is unknown to %s, by every method (MCP security best practices)', async (_who, caller) => {
    const id = await open()
    const answers = [
      await inSession(id, request('tools/list'), caller),
      await listen(id, caller),
      await endSession(id, caller),
    ]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404])
    expect(await answers[0]?.json()).toMatchObject({ id: 1, error: { code: -32_001 } })
    expect(await isOpen(id)).toBe(true)
  })

  it('a session is not needed for a bare message', async () => {
    const response = await sendMessage(endpoint, ada, toolCall('plain'))
    expect(await response.json()).toMatchObject({ result: { content: [{ text: 'plain ada' }] } })
    expect(response.headers.get('mcp-session-id')).toBeNull()
  })

  it('a session is needed for GET and DELETE: they are 405 without', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await sendMessage(endpoint, ada, undefined, { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it('a session is not opened by an invalid initialize', async () => {
    const response = await sendMessage(endpoint, ada, request('initialize', { protocolVersion: 7 }))
    expect(response.headers.get('mcp-session-id')).toBeNull()
    expect(await response.json()).toMatchObject({ error: { code: -32_602 } })
    for (const id of [await open(), await open()]) expect(await isOpen(id)).toBe(true)
  })

  it('a session lets a tool ask the client while it runs', async () => {
    const id = await open()
    const stream = readMessages(await inSession(id, toolCall('ask')))
    const question = await stream.next()
    expect(question?.message).toMatchObject({ method: 'elicitation/create', params: { message: 'Well?' } })
    const answer = { jsonrpc: '2.0', id: question?.message.id, result: { action: 'decline' } }
    // A stranger cannot answer for the user.
    expect((await inSession(id, answer, eve)).status).toBe(404)
    expect((await inSession(id, answer)).status).toBe(202)
    expect(await textOf(stream)).toBe('decline')
  })

  const sampled = { role: 'assistant', model: 'm', content: { type: 'text', text: 'from the model' } }
  it.each([
    ['a question of a prompt', request('prompts/get', { name: 'ask' }), { action: 'cancel' }, 'cancel'],
    ['a request for sampling', toolCall('sample'), sampled, 'from the model'],
  ])('a session sends %s on the stream of its own call', async (_what, message, result, answered) => {
    const id = await open()
    const stream = readMessages(await inSession(id, message))
    const question = await stream.next()
    await inSession(id, { jsonrpc: '2.0', id: question?.message.id, result })
    expect(JSON.stringify((await stream.rest()).at(-1)?.message.result)).toContain(answered)
  })

  it('a session makes calls with the credential of each request, not of the one that opened it', async () => {
    const id = await open()
    const first = inSession(id, toolCall('whose', {}, 1), { ...ada, providerToken: () => 'token 1' })
    const second = inSession(id, toolCall('whose', {}, 2), { ...ada, providerToken: () => 'token 2' })
    const streams = [readMessages(await first), readMessages(await second)]
    await waitForCalls(2)
    for (const { go } of running.toReversed()) go()
    expect(await Promise.all(streams.map(textOf))).toEqual(['token 1', 'token 2'])
  })

  it('a session cancels a call when the client says so', async () => {
    const id = await open()
    readMessages(await inSession(id, toolCall('whose', {}, 5)))
    await waitForCalls(1)
    await inSession(id, notification('notifications/cancelled', { requestId: 5 }))
    await new Promise((resolve) => setImmediate(resolve))
    expect(running[0]?.aborted).toBe(true)
  })
})

describe('notices of a session', () => {
  it('notices of a session come on its one GET stream: changed lists, and resources that it subscribed to', async () => {
    const [id, other] = [await open(), await open(eve)]
    const stream = readMessages(await listen(id))
    expect((await listen(id)).status).toBe(409)
    const others = readMessages(await listen(other, eve))
    await readMessages(await inSession(id, request('resources/subscribe', { uri: 'test://watched' }))).rest()
    endpoint.notify.resourceUpdated('test://other')
    endpoint.notify.resourceUpdated('test://watched')
    endpoint.notify.toolsChanged()
    expect((await stream.next())?.message).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'test://watched' },
    })
    expect((await stream.next())?.message.method).toBe('notifications/tools/list_changed')
    expect((await others.next())?.message.method).toBe('notifications/tools/list_changed')
    await readMessages(
      await inSession(id, request('resources/unsubscribe', { uri: 'test://watched' })),
    ).rest()
    endpoint.notify.resourceUpdated('test://watched')
    endpoint.notify.resourcesChanged()
    expect((await stream.next())?.message.method).toBe('notifications/resources/list_changed')
  })

  it.each<[string, number, (index: number) => string]>([
    ['more than 256 resources', 256, (index) => `test://${index}`],
    ['more than 64 KiB of URIs', 6, (index) => `test://${index}${'x'.repeat(10_000)}`],
  ])('notices of a session are not for %s', async (_what, most, uriOf) => {
    const id = await open()
    const subscribe = async (index: number): Promise<object> =>
      (
        await readMessages(await inSession(id, request('resources/subscribe', { uri: uriOf(index) }))).rest()
      )[0]?.message ?? {}
    let subscribed = 0
    while ('result' in (await subscribe(subscribed)) && subscribed < 300) subscribed += 1
    expect(subscribed).toBe(most)
    expect(await subscribe(0)).toHaveProperty('result')
  })

  it('MCP transport Earlier-Revisions: notices that a client missed are sent again after the last one that it saw', async () => {
    const id = await open()
    const stream = readMessages(await listen(id))
    endpoint.notify.toolsChanged()
    const seen = await stream.next()
    await stream.cancel()
    endpoint.notify.resourcesChanged()
    const again = await listen(id, ada, { 'last-event-id': seen?.eventId ?? '' })
    const missed = readMessages(again)
    expect((await missed.next())?.message.method).toBe('notifications/resources/list_changed')
    endpoint.notify.toolsChanged()
    expect((await missed.next())?.message.method).toBe('notifications/tools/list_changed')
    expect((await listen(id, ada, { 'last-event-id': '1_made-up' })).status).toBe(400)
  })

  it('notices that are sent again include the answer of a call whose stream broke off', async () => {
    const id = await open()
    const response = await inSession(id, toolCall('whose'))
    const [text = ''] = /id: \S+/.exec(await firstChunk(response)) ?? []
    await waitForCalls(1)
    running[0]?.go()
    await new Promise((resolve) => setImmediate(resolve))
    const again = readMessages(await listen(id, ada, { 'last-event-id': text.slice('id: '.length) }))
    expect(await textOf(again)).toBe('provider-token')
  })
})

describe('how many sessions there are', () => {
  it('sessions are limited for each user: the one idle for longest ends', async () => {
    const first = await open()
    runtime.advance(1)
    const second = await open()
    runtime.advance(1)
    expect(await isOpen(first)).toBe(true)
    runtime.advance(1)
    const third = await open()
    expect([await isOpen(first), await isOpen(second), await isOpen(third)]).toEqual([true, false, true])
  })

  it('sessions are limited for many that are opened at once, too', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => sendMessage(endpoint, ada, opening)))
    const opened = answers.map(({ headers }) => headers.get('mcp-session-id')).filter((id) => id !== null)
    const open = await Promise.all(opened.map((id) => isOpen(id)))
    expect(open.filter(Boolean)).toHaveLength(2)
  })

  it('a session whose initialize is too large to store is not opened', async () => {
    const clientInfo = { name: 'x'.repeat(70_000), version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const large = request('initialize', params, 0)
    const refused = await sendMessage(endpoint, ada, large)
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ id: 0, error: { code: -32_602 } })
  })

  it('sessions are limited in total: the one idle for longest ends, after those that listen to nothing', async () => {
    const [first, second] = [await open(), await open(people[0])]
    readMessages(await listen(first))
    for (const caller of people.slice(1)) await open(caller)
    expect([await isOpen(first), await isOpen(second, people[0])]).toEqual([true, false])
  })

  it('sessions are limited in total: the user with the most gives one up, with its call if needed, so that no user locks the others out', async () => {
    for (const id of [await open(), await open()]) readMessages(await inSession(id, toolCall('whose')))
    await waitForCalls(2)
    for (const caller of people.slice(0, 3)) expect(await open(caller)).not.toBe('')
    expect(running.map(({ aborted }) => aborted)).toEqual([true, false])
    for (const caller of people.slice(0, 3)) {
      const id = await open(caller)
      readMessages(await inSession(id, toolCall('whose'), caller))
    }
    await waitForCalls(5)
    const refused = await sendMessage(endpoint, people[3] ?? ada, opening)
    expect(refused.status).toBe(503)
  })

  it('the limit of sessions never ends a call that runs: it answers 503 instead', async () => {
    for (const id of [await open(), await open()]) readMessages(await inSession(id, toolCall('whose')))
    await waitForCalls(2)
    const refused = await sendMessage(endpoint, ada, opening)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(running.some(({ aborted }) => aborted)).toBe(false)
    expect(await open(eve)).not.toBe('')
  })

  it('MCP security Session-Hijacking: the limit of sessions counts none that is idle for half an hour', async () => {
    const id = await open()
    runtime.advance(1799)
    expect(await isOpen(id)).toBe(true)
    const stream = readMessages(await listen(id))
    runtime.advance(18_000)
    expect(await isOpen(id)).toBe(true)
    await stream.cancel()
    runtime.advance(1800)
    expect((await inSession(id, request('ping'))).status).toBe(404)
  })
})

it('a session counts as idle since its last call ended, however long that took', async () => {
  const id = await open()
  const stream = readMessages(await inSession(id, toolCall('whose')))
  await waitForCalls(1)
  runtime.advance(1700)
  running[0]?.go()
  await stream.rest()
  runtime.advance(200)
  expect(await isOpen(id)).toBe(true)
})

async function firstChunk(response: Response): Promise<string> {
  const reader = response.body?.getReader()
  const { value } = (await reader?.read()) ?? {}
  await reader?.cancel()
  return new TextDecoder().decode(value)
}
