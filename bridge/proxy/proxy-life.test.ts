import { describe, expect, it } from 'vitest'
import {
  initialize,
  onCall,
  own,
  startProxy,
  startServer,
  type Rig,
} from '../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Received } from '../../tests/support/remote/received.ts'
import { until } from '../../tests/support/until.ts'

const opening = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {} },
}

it.each([
  ['stdin ends', (rig: Rig) => void rig.input.end()],
  ['it is stopped', (rig: Rig) => rig.proxy.stop('SIGTERM')],
  ['stdout is closed', (rig: Rig) => void rig.output.destroy(new Error('EPIPE'))],
])('the proxy ends soon when %s while a token is being fetched', async (_, end) => {
  const tokens = {
    authorization: () => new Promise<never>(() => {}),
    refused: () => new Promise<never>(() => {}),
  }
  const rig = startProxy(await startServer(), { ports: { login: { tokens } } })
  rig.write(opening)
  await new Promise((resolve) => void setTimeout(resolve, 20))
  const start = performance.now()
  end(rig)
  expect(await rig.over).toBe(0)
  expect(performance.now() - start).toBeLessThan(5000)
})

describe('silence', () => {
  it.each(['legacy', 'modern'] as const)(
    'silence does not end a call if the %s server answers pings',
    async (era) => {
      const held: Received[] = []
      const to = await startServer({ era, handle: onCall((call) => held.push(call)) })
      const rig = startProxy(to, { watchdogMs: 60 })
      if (era === 'legacy') await initialize(rig)
      const called = rig.ask('tools/call', { ...own(era), name: 'x' })
      const question = era === 'legacy' ? 'ping' : 'server/discover'
      await until(() => to.methods().filter((method) => method === question).length >= 3)
      held[0]?.answer({ result: { content: [] } })
      expect((await called)['result'].content).toEqual([])
    },
  )

  it.each<[what: string, refuse: (ping: Received) => void]>([
    ['an error of JSON-RPC', (ping) => ping.answer({ error: { code: -32_601, message: 'No such method' } })],
    ['an error of JSON-RPC and 400', (ping) => ping.answer({ error: { code: -32_600, message: 'No' } }, 400)],
    ['401', (ping) => ping.json(401, '', { 'WWW-Authenticate': 'Bearer' })],
    ['403', (ping) => ping.json(403, '')],
    ['404', (ping) => ping.json(404, '')],
    ['429', (ping) => ping.json(429, '', { 'Retry-After': '60' })],
    ['500', (ping) => ping.json(500, 'broken')],
    ['an answer that is no JSON', (ping) => ping.json(200, 'pong')],
  ])(
    'silence does not end a call if the server refuses pings by %s, as it is alive',
    async (_what, refuse) => {
      const held: Received[] = []
      const to = await startServer({
        handle(request) {
          const { method } = request.body
          if (method === 'ping') return (refuse(request), true)
          return method === 'tools/call' && held.push(request) > 0
        },
      })
      const rig = startProxy(to, { watchdogMs: 60 })
      await initialize(rig)
      const called = rig.ask('tools/call', { name: 'x' })
      await until(() => to.methods().filter((method) => method === 'ping').length >= 3)
      held[0]?.answer({ result: { content: [] } })
      expect(await called).toHaveProperty('result.content', [])
      expect(to.methods().filter((method) => method === 'tools/call')).toHaveLength(1)
    },
  )

  it('an idle connection is pinged if configured', async () => {
    const to = await startServer()
    const rig = startProxy(to, { pingMs: 50 })
    await initialize(rig)
    await until(() => to.methods().includes('ping'))
    expect(rig.messages).toHaveLength(1)
  })
})
