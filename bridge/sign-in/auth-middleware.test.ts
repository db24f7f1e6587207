import { expect, it } from 'vitest'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import { TransportError } from '../transport/transport.ts'
import type { Transport } from '../transport/transport.ts'
import { AuthMiddleware } from './auth-middleware.ts'
import { createSignIns } from './sign-in-attempt.ts'
import { pendingSignIn } from '../../tests/support/bridge/proxy/pending-sign-in.ts'
import type { Json } from '../../tests/support/bridge/proxy/scripted-server.ts'

/** A transport of the 2025 era whose server refuses some methods until somebody signs in. */
function create(refused: (method: string) => boolean, times: { toolWaitMs?: number } = {}) {
  let isOpen = false
  const sent: string[] = []
  const pending = pendingSignIn()
  const transport: Transport = {
    async send(message, options) {
      const { envelope } = message
      const method = 'method' in envelope ? envelope.method : envelope.kind
      sent.push(method)
      if (!isOpen && refused(method)) throw new TransportError('sign_in_needed', 'x', { status: 401 })
      if (envelope.kind === 'request')
        await options.deliver(
          toWireMessage({ jsonrpc: '2.0', id: envelope.id, result: { real: true, tools: [] } }),
        )
    },
    close: () => Promise.resolve(),
  }
  const signIns = createSignIns({
    waitMs: 20,
    signIn: pending.signIn,
    openBrowser() {},
    say() {},
    succeeded() {},
    randomId: () => 'r',
    now: () => 1000,
  })
  const beside = new AuthMiddleware(
    transport,
    { era: 'legacy', version: '1', waitMs: 20, toolWaitMs: 60, ...times },
    {
      signIns,
      canSignIn: true,
      memory: () => undefined,
      describeFailure: (error) => ({ code: -31_000, message: (error as Error).message }),
      offered() {},
    },
  )
  let lastId = 0
  const ask = (method: string, params: Json = {}): Promise<Json> =>
    new Promise((resolve, reject) => {
      const message = toWireMessage({ jsonrpc: '2.0', id: ++lastId, method, params })
      beside
        .send(message, {
          deliver(answer) {
            if (answer.envelope.kind === 'response') resolve(parseWireMessage(answer) as Json)
          },
        })
        .catch(reject)
    })
  const notify = (method: string): Promise<void> =>
    beside.send(toWireMessage({ jsonrpc: '2.0', method }), { deliver() {} })
  const allow = (): void => {
    isOpen = true
    pending.succeed()
  }
  return { ask, notify, sent, allow, pending }
}

it('serves a server that lets initialize through and nothing else', async () => {
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

it('stands in for a server that nothing is known of under its own name and version', async () => {
  const { ask } = create(() => true)
  expect((await ask('initialize'))['result'].serverInfo).toEqual({ name: 'drawbridge', version: '1' })
})

it('does not tell the server that something is cancelled which never got there', async () => {
  const { ask, notify, sent, allow } = create(() => true)
  await ask('initialize')
  await notify('notifications/initialized')
  await notify('notifications/cancelled')
  allow()
  expect((await ask('tools/list'))['result'].real).toBe(true)
  expect(sent).toEqual(['initialize', 'initialize', 'notifications/initialized', 'tools/list'])
})

it('does not hold a list for a person who is asked to open the link', async () => {
  const { ask } = create((method) => method !== 'initialize')
  await ask('initialize', { capabilities: { elicitation: { url: {} } } })
  expect((await ask('tools/list'))['result'].tools[0].name).toBe('sign_in')
})

it('waits longer when the tool to sign in is called again, and says so when it is done', async () => {
  const { ask, allow } = create((method) => method !== 'initialize', { toolWaitMs: 20_000 })
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

it('answers a ping itself, a list that was not announced empty, and the rest with an error that has the link', async () => {
  const { ask } = create(() => true)
  await ask('initialize')
  expect((await ask('ping'))['result']).toEqual({})
  expect((await ask('prompts/list'))['result']).toEqual({ prompts: [] })
  const error = (await ask('prompts/get'))['error']
  expect(error.message).toContain('https://as.example')
  expect(error.data.signIn.url).toContain('https://as.example')
})

it('tells the client when sign-ins do not help', async () => {
  let begun = 0
  const transport: Transport = {
    send: () => Promise.reject(new TransportError('sign_in_needed', 'x', { status: 403 })),
    close: () => Promise.resolve(),
  }
  const signIns = createSignIns({
    waitMs: 20,
    signIn: () => {
      begun += 1
      return { prompt: new Promise(() => {}), done: Promise.resolve(), cancel() {} }
    },
    openBrowser() {},
    say() {},
    succeeded() {},
    randomId: () => 'r',
    now: () => 1000,
  })
  const times = { waitMs: 50, toolWaitMs: 50 }
  const beside = new AuthMiddleware(
    transport,
    { era: 'legacy', version: '1', ...times },
    {
      signIns,
      canSignIn: true,
      memory: () => undefined,
      describeFailure: () => ({ code: 1, message: '' }),
      offered() {},
    },
  )
  const call = toWireMessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x' } })
  await expect(beside.send(call, { deliver() {} })).rejects.toThrow(TransportError)
  expect(begun).toBe(2)
})

it('knows its tool when it was named in a failure only, also once somebody has signed in', async () => {
  const { ask, allow, sent } = create((method) => method !== 'initialize')
  await ask('initialize')
  expect((await ask('tools/call', { name: 'echo' }))['result'].isError).toBe(true)
  allow()
  await expect.poll(async () => (await ask('ping'))['result'].real).toBe(true)
  expect((await ask('tools/call', { name: 'sign_in' }))['result'].content[0].text).toContain('Signed in')
  expect(sent.filter((method) => method === 'tools/call')).toHaveLength(1)
})

it('begins no second sign-in when the tool is called again after one that came late', async () => {
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

it('knows its tool though it did not list it in this process', async () => {
  const { ask, pending } = create((method) => method !== 'initialize')
  await ask('initialize')
  const called = await ask('tools/call', { name: 'sign_in' })
  expect(called['result'].isError).toBeUndefined()
  expect(called['result'].content[0].text).toContain('https://as.example')
  expect(pending.begun()).toBe(1)
})
