import { describe, expect, it } from 'vitest'
import { staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

describe.concurrent('a client in the wrong order', () => {
  it.each([
    ['legacy', 'legacy'],
    ['modern', 'legacy'],
    ['legacy', 'modern'],
    ['legacy', 'sse'],
  ] as const)('that waits for no answer at all (%s client, %s server): all are answered', (client, server) =>
    staged(async (stage) => {
      const remote = await stage.remote(
        server === 'sse' ? { era: 'legacy', transport: 'sse' } : { era: server },
      )
      const bridge = stage.bridge(server === 'sse' ? remote.sseUrl : remote.url)
      const params = { protocolVersion: '2025-11-25', capabilities: {} }
      const opening = client === 'legacy' ? bridge.ask('initialize', params) : undefined
      if (client === 'legacy') bridge.write({ jsonrpc: '2.0', method: 'notifications/initialized' })
      else bridge.speakModern()
      const answers = [bridge.ask('tools/list'), bridge.ask('tools/call', { name: 'echo', arguments: {} })]
      for (const answer of [opening, ...answers]) {
        if (answer !== undefined) expect(await answer).toHaveProperty('result')
      }
      expect(remote.counters.sessionsOpened).toBe(server === 'modern' ? 0 : 1)
      if (client === 'modern') return
      if (server !== 'modern') expect(remote.counters.methods['notifications/initialized']).toBe(1)
      await until(() => remote.counters.streamsOpen === 1, 'the stream')
    })(),
  )
})
