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

it.each([
  ['stdin ends', (rig: Rig) => void rig.input.end()],
  ['it is stopped', (rig: Rig) => rig.proxy.stop('SIGTERM')],
  ['stdout is closed', (rig: Rig) => void rig.output.destroy(new Error('EPIPE'))],
])('is over soon when %s while a token is being fetched', async (_, end) => {
  const tokens = {
    authorization: () => new Promise<never>(() => {}),
    refused: () => new Promise<never>(() => {}),
  }
  const rig = proxy((await server(legacyServer())).url, { ports: { login: { tokens } } })
  rig.write(opening)
  await new Promise((resolve) => void setTimeout(resolve, 20))
  const start = performance.now()
  end(rig)
  expect(await rig.over).toBe(0)
  expect(performance.now() - start).toBeLessThan(5000)
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
