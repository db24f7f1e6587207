import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createSignal } from '@drawbridge/shared/async.ts'
import {
  jsonRpcError,
  parseWireMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { discarding, type Send } from '@drawbridge/shared/mcp/pipeline.ts'
import type { ServerMemory } from '../transport/server-memory.ts'
import { TransportError } from '../transport/transport.ts'
import { SignInStep } from './sign-in-step.ts'
import { SignIns } from './sign-in-attempt.ts'
import { pendingSignIn } from '../../tests/support/bridge/proxy/pending-sign-in.ts'
import type { Json } from '../../tests/support/remote/received.ts'

interface CreateOptions {
  callWaitMs?: number
  opens?: boolean
  memory?: ServerMemory
  signIn?: ReturnType<typeof pendingSignIn>['signIn']
  /** Answered with a JSON-RPC error. */
  failing?: string
}

/** A transport of the 2025 era whose server refuses some methods until the user signs in. */
function create(
  refused: (method: string) => boolean,
  { opens = false, signIn, memory, failing, ...times }: CreateOptions = {},
) {
  let isOpen = false
  const sent: string[] = []
  const pending = pendingSignIn()
  let accepted: Promise<void> | undefined
  const next: Send = async (message, { deliver }) => {
    const { envelope } = message
    const method = 'method' in envelope ? envelope.method : envelope.kind
    sent.push(method)
    if (!isOpen && refused(method)) throw new TransportError('sign_in_needed', 'x', { status: 401 })
    if (envelope.kind === 'notification') await accepted
    if (envelope.kind !== 'request') return
    if (method === failing) return deliver(toWireMessage(jsonRpcError(envelope.id, -32_000, 'no')))
    await deliver(toWireMessage({ jsonrpc: '2.0', id: envelope.id, result: { real: true, tools: [] } }))
  }
  const signIns = new SignIns({
    waitMs: 20,
    signIn: signIn ?? pending.signIn,
    openBrowser: () => opens,
    say() {},
    succeeded() {},
    randomId: () => 'r',
    runtime: { now: () => 1000 },
  })
  const step = new SignInStep('legacy', {
    version: '1',
    callWaitMs: 60,
    ...times,
    signIns,
    memory: () => memory,
    describeFailure: (error) => ({ code: -31_000, message: (error as Error).message }),
    offered() {},
  })
  let lastId = 0
  const ask = (method: string, params: Json = {}): Promise<Json> =>
    new Promise((resolve, reject) => {
      const message = toWireMessage({ jsonrpc: '2.0', id: ++lastId, method, params })
      const deliver = (answer: WireMessage): void => {
        if (answer.envelope.kind === 'response') resolve(parseWireMessage(answer))
      }
      step.send(message, { deliver }, next).catch(reject)
    })
  const notify = (method: string): Promise<void> =>
    step.send(toWireMessage({ jsonrpc: '2.0', method }), discarding, next)
  const allow = (): void => {
    isOpen = true
    pending.succeed()
  }
  const acceptAfter = (work: Promise<void>): void => void (accepted = work)
  return { ask, notify, sent, allow, pending, acceptAfter, opening: step.opening }
}

/** Resolves with an answer that comes long before `callWaitMs` is over. */
function soon(answer: Promise<Json>): Promise<Json> {
  const late = delay(5000, undefined, { ref: false }).then(() => Promise.reject(new Error('It waits.')))
  return Promise.race([answer, late])
}

it('requests wait until the server has accepted notifications/initialized', async () => {
  const { ask, notify, sent, acceptAfter } = create(() => false)
  await ask('initialize', { capabilities: {} })
  const { given, give } = createSignal()
  acceptAfter(given)
  const both = Promise.all([notify('notifications/initialized'), ask('tools/list')])
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect(sent).toEqual(['initialize', 'notifications/initialized'])
  give()
  await both
  expect(sent).toContain('tools/list')
})

it('a server that allows initialize alone is signed in to', async () => {
  const { ask, notify, sent, allow } = create((method) => method !== 'initialize')
  expect((await ask('initialize', { capabilities: {} }))['result'].real).toBe(true)
  const notified = notify('notifications/initialized')
  expect((await ask('tools/list'))['result'].tools[0].name).toBe('sign_in')
  allow()
  await notified
  expect((await ask('tools/list'))['result'].real).toBe(true)
  expect(sent).toEqual([
    'initialize',
    'notifications/initialized',
    'tools/list',
    'notifications/initialized',
    'tools/list',
  ])
})

it('an unknown server is answered for with the name and version of the bridge', async () => {
  const { ask } = create(() => true)
  expect((await ask('initialize'))['result'].serverInfo).toEqual({ name: 'drawbridge', version: '1' })
})

it('a cancellation of an unsent request is not sent', async () => {
  const { ask, notify, sent, allow } = create(() => true)
  await ask('initialize')
  await notify('notifications/initialized')
  await notify('notifications/cancelled')
  allow()
  expect((await ask('tools/list'))['result'].real).toBe(true)
  expect(sent).toEqual(['initialize', 'initialize', 'notifications/initialized', 'tools/list'])
})

it('a list does not wait while the user is asked to open the link', async () => {
  const { ask } = create((method) => method !== 'initialize')
  await ask('initialize', { capabilities: { elicitation: { url: {} } } })
  expect((await ask('tools/list'))['result'].tools[0].name).toBe('sign_in')
})

describe('a call of a tool that is not public', () => {
  const isCall = (method: string): boolean => method === 'tools/call'
  const textOf = (answer: Json): string => String(answer['result'].content[0].text)

  it('a call waits while the link is in a browser, and is answered by the server', async () => {
    const { ask, allow } = create(isCall, { callWaitMs: 20_000, opens: true })
    await ask('initialize')
    expect((await ask('tools/list'))['result'].real).toBe(true)
    let isOver = false
    const called = ask('tools/call', { name: 'who' }).finally(() => (isOver = true))
    // Longer than any request but a call waits.
    await new Promise((resolve) => void setTimeout(resolve, 100))
    expect(isOver).toBe(false)
    allow()
    expect((await called)['result'].real).toBe(true)
  })

  it.each([
    ['in time', true],
    ['at once without a browser', false],
  ])('a call is answered with the link %s, and names no unlisted tool', async (_when, opens) => {
    const { ask, pending } = create(isCall, { callWaitMs: opens ? 60 : 60_000, opens })
    await ask('initialize')
    await ask('tools/list')
    expect(textOf(await soon(ask('tools/call', { name: 'who' })))).toContain('https://as.example')
    pending.fail(new Error('You denied access.'))
    const failed = textOf(await ask('tools/call', { name: 'who' }))
    expect(failed).toContain('You denied access. Call the tool again in half a minute')
    expect(failed).not.toContain('sign_in')
  })

  it('a list is answered while the link is in a browser', async () => {
    const { ask } = create((method) => method !== 'initialize', { callWaitMs: 60_000, opens: true })
    await ask('initialize')
    expect((await soon(ask('tools/list')))['result'].tools[0].name).toBe('sign_in')
  })
})

it('a second call of the sign-in tool waits longer, and reports success', async () => {
  const { ask, allow } = create((method) => method !== 'initialize', { callWaitMs: 20_000 })
  await ask('initialize')
  await ask('tools/list')
  expect((await ask('tools/call', { name: 'sign_in' }))['result'].content[0].text).toContain(
    'https://as.example',
  )
  const again = ask('tools/call', { name: 'sign_in' })
  allow()
  expect((await again)['result'].content[0].text).toContain('Signed in')
  expect((await ask('tools/call', { name: 'sign_in' }))['result'].content[0].text).toContain('Signed in')
})

it('tools/list has the remembered tools and the sign-in tool; other announced lists get the link', async () => {
  const capabilities = { resources: {}, prompts: {} }
  const tools = [{ name: 'known' }]
  const memory: ServerMemory = {
    era: 'legacy',
    transport: 'http',
    initializeResult: { capabilities },
    tools,
  }
  const { ask } = create(() => true, { memory })
  expect((await ask('initialize'))['result'].capabilities).toMatchObject(capabilities)
  const listed = (await ask('tools/list'))['result'].tools as { name: string }[]
  expect(listed.map(({ name }) => name)).toEqual(['known', 'sign_in'])
  for (const method of ['resources/list', 'resources/templates/list', 'prompts/list'])
    expect((await ask(method))['error'].message).toContain('needs a sign-in')
})

it('ping and unannounced lists are answered locally, other requests with the link', async () => {
  const { ask } = create(() => true)
  await ask('initialize')
  expect((await ask('ping'))['result']).toEqual({})
  expect((await ask('prompts/list'))['result']).toEqual({ prompts: [] })
  expect((await ask('resources/list'))['result']).toEqual({ resources: [] })
  expect((await ask('resources/templates/list'))['result']).toEqual({ resourceTemplates: [] })
  const error = (await ask('prompts/get'))['error']
  expect(error.message).toContain('https://as.example')
  expect(error.data.signIn.url).toContain('https://as.example')
})

it('a client gets the refusal if sign-ins do not help', async () => {
  let begun = 0
  const signIn: CreateOptions['signIn'] = () => {
    begun += 1
    if (begun > 10) throw new Error('It signs in for ever.')
    return { prompt: new Promise(() => {}), done: Promise.resolve(), cancel() {} }
  }
  const { ask } = create(() => true, { signIn })
  await expect(ask('tools/call', { name: 'x' })).rejects.toThrow(TransportError)
  expect(begun).toBe(2)
})

it('the sign-in tool begins no second sign-in after a late one', async () => {
  const { ask, allow, pending, sent } = create(() => true)
  await ask('initialize')
  pending.fail(new Error('broken'))
  await expect.poll(async () => (await ask('ping'))['result']).toEqual({})
  expect((await ask('tools/call', { name: 'sign_in' }))['result'].content[0].text).toContain('https://')
  allow()
  for (const _time of [1, 2, 3]) {
    const called = await ask('tools/call', { name: 'sign_in' })
    expect(called['result'].content[0].text).toContain('Signed in')
  }
  expect(pending.begun()).toBe(2)
  expect(sent.at(-1)).toBe('initialize')
})

it('the sign-in tool works if an earlier process listed it', async () => {
  const { ask, pending } = create((method) => method !== 'initialize')
  await ask('initialize')
  const called = await ask('tools/call', { name: 'sign_in' })
  expect(called['result'].isError).toBeUndefined()
  expect(called['result'].content[0].text).toContain('https://as.example')
  expect(pending.begun()).toBe(1)
})

it('an initialize that the server refuses after the sign-in fails the next request with that error', async () => {
  const { ask, allow } = create(() => true, { failing: 'initialize' })
  await ask('initialize')
  allow()
  const failure = await ask('tools/list').catch((error: unknown) => error)
  expect(failure).toMatchObject({ fault: 'refused', response: { envelope: { isError: true } } })
})

it.each([
  ['once, if the client has sent it', ['notifications/initialized'], ['notifications/initialized']],
  ['not before the client has sent it', ['notifications/roots/list_changed'], []],
  [
    'and nothing else that the client has sent',
    ['notifications/cancelled', 'notifications/initialized', 'notifications/roots/list_changed'],
    ['notifications/initialized'],
  ],
])('a session that is opened late gets notifications/initialized %s', async (_, notified, passed) => {
  const { ask, allow, notify, sent } = create(() => true)
  await ask('initialize')
  for (const method of notified) await notify(method)
  allow()
  await expect.poll(async () => (await ask('tools/list'))['result'].real).toBe(true)
  expect(sent.filter((method) => method.startsWith('notifications/'))).toEqual(passed)
})

it('a session that goes missing while initialized is on its way is opened by the next request', async () => {
  const { ask, notify, acceptAfter, opening, sent } = create(() => false)
  const { given, give } = createSignal()
  acceptAfter(given)
  await ask('initialize')
  await ask('ping')
  const notified = notify('notifications/initialized')
  const initialize = { jsonrpc: '2.0', id: 'first', method: 'initialize', params: {} } as const
  opening.assume(toWireMessage(initialize), true)
  give()
  await notified
  await ask('tools/list')
  expect(sent.filter((method) => method === 'initialize')).toHaveLength(2)
})

it('a session that is opened late answers the list in time when it needs a sign-in', async () => {
  const { ask, allow, opening, sent } = create(() => true)
  const initialize = { jsonrpc: '2.0', id: 'first', method: 'initialize', params: {} } as const
  opening.assume(toWireMessage(initialize), true)
  expect((await soon(ask('tools/list')))['result'].tools[0].name).toBe('sign_in')
  allow()
  await expect.poll(async () => (await ask('tools/list'))['result'].real).toBe(true)
  expect(sent.filter((method) => method === 'notifications/initialized')).toHaveLength(1)
})
