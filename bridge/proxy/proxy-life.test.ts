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

  it('an idle connection is pinged if configured', async () => {
    const to = await startServer()
    const rig = startProxy(to, { pingMs: 50 })
    await initialize(rig)
    await until(() => to.methods().includes('ping'))
    expect(rig.messages).toHaveLength(1)
  })
})
