import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Remote } from '../support/remote/remote.ts'
import { type BridgeChild, modernClaims } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

const eras = ['legacy', 'modern'] as const
const all = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

type Era = (typeof eras)[number]

async function connected(
  stage: Stage,
  client: Era,
  server: Era,
): Promise<{ bridge: BridgeChild; remote: Remote }> {
  const remote = await stage.remote({ era: server })
  const bridge = stage.bridge(remote.url)
  await open(bridge, client)
  return { bridge, remote }
}

async function open(bridge: BridgeChild, client: Era): Promise<JsonObject> {
  if (client === 'legacy') return bridge.initialize(all)
  bridge.speakModern(all)
  return bridge.ask('server/discover')
}

function progressOf(bridge: BridgeChild, token: string): unknown[] {
  return bridge.messages
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => params as JsonObject)
    .filter(({ progressToken }) => progressToken === token)
    .map(({ progress }) => progress)
}

describe.concurrent.each([
  ['legacy', 'legacy'],
  ['legacy', 'modern'],
  ['modern', 'legacy'],
] as const)('a %s client of a %s server', (client, server) => {
  it(
    'cancels upstream, hears no answer, and can use its connection on',
    staged(async (stage) => {
      const { bridge, remote } = await connected(stage, client, server)
      void bridge.ask('tools/call', { name: 'slow', arguments: { ms: 60_000 } }, 'to cancel')
      await until(() => remote.counters.calls['slow'] === 1, 'the call')
      const params = { requestId: 'to cancel', reason: 'enough' }
      bridge.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      await until(() => remote.counters.cancelled.length === 1, 'the cancellation')
      if (client === server) expect(remote.counters.cancelled).toEqual(['to cancel'])
      expect(await bridge.call('echo', { text: 'another' })).toBe('another')
      expect(bridge.messages.filter(({ id }) => id === 'to cancel')).toEqual([])
    }),
  )
})

describe.concurrent.each(eras)('a %s client of a server of its own era', (era) => {
  it(
    'reaches methods that nobody knows, and unknown members arrive as they were written',
    staged(async (stage) => {
      const server = await stage.remote({
        era,
        handle({ body: { method }, answer }) {
          if (method !== 'example/own') return false
          answer({ result: { resultType: 'complete', odd: [1, { '': null }] } })
          return true
        },
      })
      const bridge = stage.bridge(server.url)
      await open(bridge, era)
      const _meta = { ...(era === 'modern' && modernClaims(all)), 'example.com/odd': { a: [1, null] } }
      const params = { zzz: 1.5, nested: { '': [] }, _meta }
      const line = `{"method" : "example/own" ,"id":"an id",  "params":${JSON.stringify(params)},"jsonrpc":"2.0"}`
      bridge.write(line)
      expect(await bridge.find(({ id }) => id === 'an id')).toHaveProperty('result.odd', [1, { '': null }])
      // Not a byte is changed on the way.
      expect(server.received.map(({ text }) => text)).toContain(line)
      bridge.write({ jsonrpc: '2.0', method: 'notifications/example', params: { x: 1 } })
      await until(() => server.methods().includes('notifications/example'), 'the notification')
    }),
  )
})

describe.concurrent.each(['json', 'sse', 'polled'] as const)('answers as %s', (reply) => {
  it(
    'arrive, with all that comes before them',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy', reply, sseRetryMs: 50 })
      const bridge = stage.bridge(remote.url)
      bridge.answerWith({ 'roots/list': { roots: [] } })
      await bridge.initialize(all)
      const ten = Array.from({ length: 10 }, (_, n) => bridge.call('echo', { text: `${n}` }))
      expect(await Promise.all(ten)).toEqual(Array.from({ length: 10 }, (_, n) => `${n}`))
      await bridge.ask('tools/call', { name: 'progress', arguments: { n: 3 }, _meta: { progressToken: 'p' } })
      expect(progressOf(bridge, 'p')).toEqual([1, 2, 3])
      expect(await bridge.call('roots')).toBe('{"roots":[]}')
      if (reply === 'polled') expect(remote.counters.lastEventIds.length).toBeGreaterThanOrEqual(12)
    }),
  )
})

describe.concurrent('ids and answers', () => {
  it(
    'come back as they were, whatever they look like',
    staged(async (stage) => {
      const { bridge } = await connected(stage, 'legacy', 'legacy')
      const ids = [0, -1, 2 ** 53 - 1, '', '1', 'ä "quoted" \\ \u0000', 'x'.repeat(5000)]
      const answers = ids.map((id) =>
        bridge.ask('tools/call', { name: 'echo', arguments: { text: 'x' } }, id),
      )
      expect((await Promise.all(answers)).map(({ id }) => id)).toEqual(ids)
    }),
  )
})

describe.concurrent('the transport of 2024-11-05', () => {
  it(
    'is used by itself, when the server has nothing else',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy', transport: 'sse' })
      for (const client of eras) {
        const bridge = stage.bridge(remote.sseUrl)
        const before = remote.counters.sessionsOpened
        await open(bridge, client)
        bridge.answerWith({ 'roots/list': { roots: [] } })
        expect(await bridge.call('echo', { text: 'over SSE' })).toBe('over SSE')
        if (client === 'legacy') expect(await bridge.call('roots')).toBe('{"roots":[]}')
        expect(remote.counters.sessionsOpened).toBe(before + 1)
        bridge.endInput()
        await bridge.over
        await until(() => remote.counters.streamsOpen === 0, 'the stream is closed')
      }
    }),
  )
})

describe.concurrent('cookies of a balancer', () => {
  it.each([
    [[], 'on'],
    [['--disable-cookies'], 'error'],
  ])('with %j: a call says %s', (flags, said) =>
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy', cookies: true })
      const bridge = stage.bridge(remote.url, { flags })
      await bridge.initialize()
      expect(await bridge.call('echo', { text: 'on' })).toContain(said)
    })(),
  )
})
