import { createServer, type AddressInfo, type Server } from 'node:net'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../tests/support/bridge/proxy/condition.ts'
import { pendingSignIn } from '../../tests/support/bridge/proxy/pending-sign-in.ts'
import {
  claims,
  initialize,
  startProxy,
  type Rig,
  type RigOptions,
} from '../../tests/support/bridge/proxy/proxy-rig.ts'
import {
  legacyServer,
  modernServer,
  reply,
  startServer,
  type Received,
  type TestServer,
} from '../../tests/support/bridge/proxy/scripted-server.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean()
})

async function server(handle: Parameters<typeof startServer>[0]): Promise<TestServer> {
  const started = await startServer(handle)
  cleanups.push(started.close)
  return started
}

function proxy(url: string, options?: RigOptions): Rig {
  const rig = startProxy(url, options)
  cleanups.push(rig.stop)
  return rig
}

/** Accepts connections and never says a word. */
async function muteServer(): Promise<string> {
  const sockets = new Set<{ destroy(): void }>()
  const mute: Server = createServer((socket) => void sockets.add(socket))
  mute.listen(0, '127.0.0.1')
  await once(mute, 'listening')
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy()
    mute.close()
    await once(mute, 'close')
  })
  return `http://127.0.0.1:${(mute.address() as AddressInfo).port}/mcp`
}

const opening = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {} },
}

/** A server with a standing stream that holds its calls. */
function busyServer(): { handle: (request: Received) => void; held: Received[] } {
  const held: Received[] = []
  const handle = legacyServer({
    handle(request) {
      if (request.method === 'GET') {
        request.response.writeHead(200, { 'Content-Type': 'text/event-stream' })
        request.response.write(': open\n\n')
      } else if (request.body['method'] === 'tools/call') held.push(request)
      else return false
      return true
    },
  })
  return { handle, held }
}

type Phase = () => Promise<Rig>

const phases: [string, Phase][] = [
  ['before anything', async () => proxy((await server(legacyServer())).url)],
  [
    'while it connects',
    async () => {
      const rig = proxy(await muteServer())
      rig.write(opening)
      await new Promise((resolve) => void setTimeout(resolve, 20))
      return rig
    },
  ],
  [
    'while it tries again',
    async () => {
      const away = await server(({ response }) => response.writeHead(503).end())
      const rig = proxy(away.url, { retryMs: 60_000 })
      rig.write(opening)
      await until(() => away.methods().length > 1)
      return rig
    },
  ],
  [
    'while a token is being fetched',
    async () => {
      const tokens = {
        authorization: () => new Promise<never>(() => {}),
        refused: () => new Promise<never>(() => {}),
      }
      const rig = proxy((await server(legacyServer())).url, { ports: { tokens } })
      rig.write(opening)
      await new Promise((resolve) => void setTimeout(resolve, 20))
      return rig
    },
  ],
  [
    'while a person signs in',
    async () => {
      const { signIn } = pendingSignIn()
      const rig = proxy((await server(legacyServer({ isAllowed: () => false }))).url, { ports: { signIn } })
      await initialize(rig, { elicitation: { url: {} } })
      rig.write({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'x' } })
      await rig.find(({ method }) => method === 'elicitation/create')
      return rig
    },
  ],
  [
    'with calls and streams open',
    async () => {
      const { handle, held } = busyServer()
      const rig = proxy((await server(handle)).url)
      await initialize(rig)
      rig.write({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'x' } })
      await until(() => held.length === 1)
      return rig
    },
  ],
  [
    'with a translated call open',
    async () => {
      const { handle, held } = busyServer()
      const rig = proxy((await server(handle)).url)
      await rig.ask('server/discover', claims())
      rig.write({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { ...claims(), name: 'x' } })
      await until(() => held.length === 1)
      return rig
    },
  ],
]

describe.each(phases)('%s', (_, reach) => {
  it.each([
    ['stdin ends', (rig: Rig) => void rig.input.end()],
    ['it is stopped', (rig: Rig) => rig.proxy.stop('SIGTERM')],
    ['stdout is closed', (rig: Rig) => void rig.output.destroy(new Error('EPIPE'))],
  ])('it is over soon when %s', async (_, end) => {
    const rig = await reach()
    const start = performance.now()
    end(rig)
    expect(await rig.over).toBe(0)
    expect(performance.now() - start).toBeLessThan(5000)
  })
})

it('ends each session at the server once', async () => {
  const { handle } = busyServer()
  const to = await server(handle)
  for (const open of [initialize, (rig: Rig) => rig.ask('tools/list', claims())]) {
    const rig = proxy(to.url)
    await open(rig)
    if (open === initialize) await rig.ask('tools/list')
    to.received.length = 0
    rig.input.end()
    await rig.over
    expect(to.received.map(({ method }) => method)).toEqual(['DELETE'])
  }
})

it('cancels a pending sign-in at the end', async () => {
  const pending = pendingSignIn()
  const to = await server(legacyServer({ isAllowed: () => false }))
  const rig = proxy(to.url, { ports: { signIn: pending.signIn } })
  await initialize(rig)
  rig.input.end()
  await rig.over
  expect(pending.cancelled()).toBe(true)
})

describe('silence', () => {
  it.each([
    ['legacy', legacyServer, {}],
    ['modern', modernServer, claims()],
  ] as const)('is no reason to end a call whose %s server answers pings', async (era, make, params) => {
    let held: Received | undefined
    const to = await server(
      make({
        handle(request) {
          if (request.body['method'] !== 'tools/call') return false
          held = request
          return true
        },
      }),
    )
    const rig = proxy(to.url, { watchdogMs: 60 })
    if (era === 'legacy') await initialize(rig)
    const called = rig.ask('tools/call', { ...params, name: 'x' })
    const question = era === 'legacy' ? 'ping' : 'server/discover'
    await until(() => to.methods().filter((method) => method === question).length >= 3)
    if (held !== undefined)
      reply(held.response, { jsonrpc: '2.0', id: held.body['id'], result: { content: [] } })
    expect((await called)['result'].content).toEqual([])
  })

  it('of the whole connection is broken by pings, if they are asked for', async () => {
    const to = await server(legacyServer())
    const rig = proxy(to.url, { pingMs: 50 })
    await initialize(rig)
    await until(() => to.methods().includes('ping'))
    expect(rig.messages).toHaveLength(1)
  })
})
