import { until } from '../../tests/support/until.ts'
import { describe, expect, it } from 'vitest'
import { createSignal } from '@drawbridge/shared/async.ts'
import { pendingSignIn } from '../../tests/support/bridge/proxy/pending-sign-in.ts'
import {
  claims,
  type Era,
  initialize,
  startProxy,
  startServer,
  type Rig,
  type RigOptions,
} from '../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote } from '../../tests/support/remote/remote.ts'
import type { Json } from '../../tests/support/remote/received.ts'
import type { ServerMemory } from '../transport/server-memory.ts'

/** Starts a proxy before a server that requires a sign-in, and a pending sign-in. */
async function guarded(
  era: Era,
  { ports, prompt, ...options }: RigOptions & { prompt?: Parameters<typeof pendingSignIn>[0] } = {},
): Promise<{ to: Remote; rig: Rig; signIn: ReturnType<typeof pendingSignIn>; allow(): void }> {
  const to = await startServer({ era, auth: true })
  const signIn = pendingSignIn(prompt)
  const rig = startProxy(to, {
    ...options,
    ports: {
      signIn: signIn.signIn,
      login: {
        tokens: {
          authorization: () => Promise.resolve(to.settings.auth ? 'Bearer old' : 'Bearer new'),
          refused: () => Promise.resolve(to.settings.auth ? 'sign_in_needed' : 'retry'),
        },
      },
      ...ports,
    },
  })
  return {
    to,
    rig,
    signIn,
    allow() {
      to.set({ auth: false })
      signIn.succeed()
    },
  }
}

const link = 'https://as.example/authorize?n=1'
const listChanged = (message: Json): boolean => message['method'] === 'notifications/tools/list_changed'

it('a 2025 client that has signed in at a server of 2026-07-28 hears of its changes', async () => {
  const { rig, to, allow } = await guarded('modern')
  await initialize(rig)
  rig.write({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await rig.ask('tools/list')
  allow()
  await rig.find(listChanged)
  expect((await rig.ask('tools/list'))['result'].tools[0].name).toBe('echo')
  await expect.poll(() => to.counters.streamsOpen).toBe(1)
  to.changeTools()
  await expect.poll(() => rig.messages.filter(listChanged).length).toBeGreaterThan(1)
})

describe.each(['legacy', 'modern'] as const)(
  'a client of 2025-11-25 that is not signed in, %s server',
  (era) => {
    it('initialize is answered in time, and the sign-in tool leads to the real tools', async () => {
      const { rig, signIn, allow } = await guarded(era)
      const start = performance.now()
      const opened = await initialize(rig)
      expect(performance.now() - start).toBeLessThan(5000)
      expect(opened['result']).toMatchObject({
        protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true } },
      })
      const listed = await rig.ask('tools/list')
      expect(listed['result'].tools.map(({ name }: Json) => name)).toEqual(['sign_in'])
      const called = await rig.ask('tools/call', { name: 'sign_in', arguments: {} })
      expect(called['result'].content[0].text).toContain(link)
      expect(called['result'].isError).toBeUndefined()
      expect(rig.opened).toEqual([link])
      expect(rig.said.join('\n')).toContain(link)
      allow()
      await rig.find(listChanged)
      const again = await rig.ask('tools/list')
      expect(again['result'].tools.map(({ name }: Json) => name)).toEqual(['echo'])
      const echoed = await rig.ask('tools/call', { name: 'echo', arguments: { x: 1 } })
      expect(echoed['result'].content[0].text).toBe('{"x":1}')
      expect(signIn.begun()).toBe(1)
      expect(rig.messages.filter(({ id, method }) => id === 1 && method === undefined)).toHaveLength(1)
    })

    it('a call of another tool is answered with the link, and the memory learns the real server', async () => {
      const tools = [{ name: 'known', inputSchema: { type: 'object' } }]
      const { rig, allow } = await guarded(era, {
        memory: { era: 'legacy', transport: 'http', tools },
      })
      await initialize(rig)
      const listed = await rig.ask('tools/list')
      expect(listed['result'].tools.map(({ name }: Json) => name)).toEqual(['known', 'sign_in'])
      const called = await rig.ask('tools/call', { name: 'known', arguments: {} })
      expect(called['result'].isError).toBe(true)
      expect(called['result'].content[0].text).toContain(link)
      allow()
      await rig.find(listChanged)
      await rig.ask('tools/list')
      expect(rig.memory()?.tools?.map(({ name }) => name)).toEqual(['echo'])
      expect(rig.memory()?.era).toBe(era)
    })

    it('a client with URL elicitation is asked once, its calls wait, and completion is notified', async () => {
      const { rig, allow } = await guarded(era)
      await initialize(rig, { elicitation: { form: {}, url: {} } })
      const first = rig.ask('tools/call', { name: 'echo', arguments: { n: 1 } })
      const elicited = await rig.find(({ method }) => method === 'elicitation/create')
      expect(elicited['params']).toMatchObject({ mode: 'url', url: link })
      const second = rig.ask('tools/call', { name: 'echo', arguments: { n: 2 } })
      rig.write({ jsonrpc: '2.0', id: elicited['id'], result: { action: 'accept' } })
      allow()
      expect((await first)['result'].content[0].text).toBe('{"n":1}')
      expect((await second)['result'].content[0].text).toBe('{"n":2}')
      const complete = await rig.find(({ method }) => method === 'notifications/elicitation/complete')
      expect(complete['params']).toEqual({ elicitationId: elicited['params'].elicitationId })
      expect(rig.messages.filter(({ method }) => method === 'elicitation/create')).toHaveLength(1)
    })

    it('a declined elicitation is answered with the link', async () => {
      const { rig } = await guarded(era)
      await initialize(rig, { elicitation: { url: {} } })
      const call = rig.ask('tools/call', { name: 'echo', arguments: {} })
      const elicited = await rig.find(({ method }) => method === 'elicitation/create')
      rig.write({ jsonrpc: '2.0', id: elicited['id'], result: { action: 'decline' } })
      const answer = await call
      expect(answer['result'].isError).toBe(true)
      expect(answer['result'].content[0].text).toContain(link)
    })
  },
)

describe.each(['legacy', 'modern'] as const)(
  'a client of both revisions before an unknown %s server',
  (era) => {
    it('a client of both is offered 2025-11-25 at once, and its sign-in begins with initialize', async () => {
      const { rig, signIn, allow } = await guarded(era, { signInWaitMs: 20_000 })
      const found = await rig.ask('server/discover', claims())
      expect(found['error']).toMatchObject({ code: -32_022, data: { requested: '2026-07-28' } })
      expect(signIn.begun()).toBe(0)
      const opening = initialize(rig)
      await expect.poll(() => signIn.begun()).toBe(1)
      allow()
      expect((await opening)['result'].serverInfo.name).toBe('remote')
      expect((await rig.ask('tools/list'))['result'].tools.map(({ name }: Json) => name)).toEqual(['echo'])
      expect(rig.memory()?.era).toBe(era)
    })
  },
)

describe('a client of 2026-07-28 that is not signed in', () => {
  const memory: ServerMemory = {
    era: 'modern',
    transport: 'http',
    discoverResult: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  }

  it('a 2026 client is answered from memory in time, and its subscription announces the new tools', async () => {
    const { rig, to, allow } = await guarded('modern', { memory })
    const found = await rig.ask('server/discover', claims())
    expect(found['result']).toMatchObject({ resultType: 'complete', supportedVersions: ['2026-07-28'] })
    const listen = { ...claims(), notifications: { toolsListChanged: true } }
    rig.write({ jsonrpc: '2.0', id: 'sub', method: 'subscriptions/listen', params: listen })
    await rig.find(({ method }) => method === 'notifications/subscriptions/acknowledged')
    const listed = await rig.ask('tools/list', claims())
    expect(listed['result'].tools.map(({ name }: Json) => name)).toEqual(['sign_in'])
    expect(listed['result'].resultType).toBe('complete')
    allow()
    const notice = await rig.find(listChanged)
    expect(notice['params']._meta['io.modelcontextprotocol/subscriptionId']).toBe('sub')
    const again = await rig.ask('tools/list', claims())
    expect(again['result'].tools.map(({ name }: Json) => name)).toEqual(['echo'])
    // The server acknowledges the subscription too, which the client has heard already.
    await until(() => to.counters.streamsOpen === 1)
    to.changeTools()
    await until(() => rig.messages.filter(listChanged).length > 1)
    const isAcknowledgement = ({ method }: Json): boolean =>
      method === 'notifications/subscriptions/acknowledged'
    expect(rig.messages.filter(isAcknowledgement)).toHaveLength(1)
  })

  it.each([
    ['after a server/discover of a known server', memory],
    ['without any, before an unknown server', undefined],
  ])('a 2026 call gets input_required %s, and succeeds after the sign-in', async (_, remembered) => {
    const { rig, to, allow } = await guarded('modern', remembered && { memory: remembered })
    const params = { ...claims({ elicitation: { url: {} } }), name: 'echo', arguments: { n: 1 } }
    if (remembered) await rig.ask('server/discover', claims({ elicitation: { url: {} } }))
    const asked = await rig.ask('tools/call', params)
    expect(asked['result'].resultType).toBe('input_required')
    const [[key, input]] = Object.entries(asked['result'].inputRequests) as [[string, Json]]
    expect(input['params']).toMatchObject({ mode: 'url', url: link })
    const retry = rig.ask('tools/call', {
      ...params,
      inputResponses: { [key]: { action: 'accept' } },
      requestState: asked['result'].requestState,
    })
    allow()
    expect((await retry)['result'].content[0].text).toBe('{"n":1}')
    // The state is the bridge's own: the server has not given it.
    expect(to.received.map(({ body }) => JSON.stringify(body)).join()).not.toContain('drawbridge-sign-in-')
  })
})

describe('sign-in', () => {
  it('an unconfirmed page is shown with both hosts, by tools and elicitation, and not opened', async () => {
    const prompt = { unconfirmed: { page: 'bank.example', namedBy: 'mcp.example' } }
    const warning = expect.stringContaining('mcp.example sends you to bank.example to sign in.') as string
    const { rig } = await guarded('legacy', { prompt })
    await initialize(rig)
    for (const name of ['echo', 'sign_in']) {
      const called = await rig.ask('tools/call', { name, arguments: {} })
      expect(called['result'].content[0].text).toEqual(warning)
    }
    const { rig: asking } = await guarded('legacy', { prompt })
    await initialize(asking, { elicitation: { url: {} } })
    void asking.ask('tools/call', { name: 'echo', arguments: {} })
    const { params } = await asking.find(({ method }) => method === 'elicitation/create')
    expect(params).toMatchObject({ mode: 'url', message: warning })
    expect([...rig.opened, ...asking.opened]).toEqual([])
  })

  it('only the call that needs more scope waits for the sign-in', async () => {
    const to = await startServer({
      handle({ body, response }) {
        if (body['params']?.name !== 'admin') return false
        const challenge = 'Bearer error="insufficient_scope", scope="admin"'
        response.writeHead(403, { 'WWW-Authenticate': challenge }).end()
        return true
      },
    })
    const signIn = pendingSignIn()
    const rig = startProxy(to, { ports: { signIn: signIn.signIn }, signInWaitMs: 20_000 })
    await initialize(rig)
    const held = rig.ask('tools/call', { name: 'admin', arguments: {} })
    const other = await rig.ask('tools/call', { name: 'echo', arguments: {} })
    expect(other['result'].content).toHaveLength(1)
    expect(signIn.begun()).toBe(1)
    to.set({ handle: undefined })
    signIn.succeed()
    expect((await held)['result'].content).toHaveLength(1)
  })

  it('a silent server is answered for from memory, and its session opened later', async () => {
    const { given, give } = createSignal()
    const to = await startServer({
      handle: ({ body }) => (body['method'] === 'initialize' ? given.then(() => false) : false),
    })
    const initializeResult = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, prompts: {} },
      serverInfo: { name: 'old', version: '1' },
      instructions: 'Be kind.',
    }
    const rig = startProxy(to, {
      memory: { era: 'legacy', transport: 'http', initializeResult },
    })
    const opened = await initialize(rig)
    expect(opened['result']).toMatchObject({ serverInfo: { name: 'old' }, instructions: 'Be kind.' })
    const listed = rig.ask('tools/list')
    give()
    expect((await listed)['result'].tools[0].name).toBe('echo')
    expect(to.methods()).toEqual(['initialize', 'notifications/initialized', 'tools/list'])
  })
})
