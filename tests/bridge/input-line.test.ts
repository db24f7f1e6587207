import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Remote } from '../support/remote/remote.ts'
import { type BridgeChild, errorOf } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

const parseError = -32_700
const invalidRequest = -32_600

async function opened(stage: Stage): Promise<{ bridge: BridgeChild; remote: Remote }> {
  const remote = await stage.remote({ era: 'legacy' })
  const bridge = stage.bridge(remote.url)
  await bridge.initialize()
  await until(() => remote.counters.streamsOpen === 1, 'the session is open')
  return { bridge, remote }
}

/** What comes for a line that is no request: an error that names no id, or that of the line. */
async function errorFor(bridge: BridgeChild, line: string): Promise<JsonObject> {
  const from = bridge.messages.length
  bridge.write(line)
  let seen = 0
  return bridge.find((message) => (seen += 1) > from && 'error' in message)
}

describe.concurrent('a line that is no message', () => {
  const lines = [
    ['hello there', null, parseError],
    ['['.repeat(100_000), null, parseError],
    ['{"id":7,"method":"ping"}', 7, invalidRequest],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', null, invalidRequest],
    ['[{"jsonrpc":"2.0","id":7,"method":"ping"}]', null, invalidRequest],
    ['\u001B[32mWelcome to bash\u001B[0m', null, parseError],
  ] as const

  it(
    'gets an error with a sentence, goes nowhere, and the next line is served',
    staged(async (stage) => {
      const { bridge, remote } = await opened(stage)
      const before = remote.counters.requests['POST /mcp']
      for (const [line, id, code] of lines) {
        const answer = await errorFor(bridge, line)
        expect(answer).toMatchObject({ jsonrpc: '2.0', id, error: { code } })
        expect(errorOf(answer).message).toMatch(/^[A-Z].*\.$/)
      }
      expect(remote.counters.requests['POST /mcp']).toBe(before)
      expect(await bridge.call('echo', { text: 'next' })).toBe('next')
    }),
  )
})

describe.concurrent('a line', () => {
  it(
    'without an end is served when stdin ends behind it',
    staged(async (stage) => {
      const { bridge, remote } = await opened(stage)
      bridge.child.stdin?.end('{"jsonrpc":"2.0","method":"notifications/last"}')
      expect(await bridge.over).toMatchObject({ code: 0 })
      expect(remote.counters.sessionsOpen).toBe(0)
    }),
  )
})

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
