import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { type BridgeChild, modernClaims } from '../support/bridge/process/bridge-child.ts'
import { staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

const eras = ['legacy', 'modern'] as const
const all = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

type Era = (typeof eras)[number]

async function open(bridge: BridgeChild, client: Era): Promise<JsonObject> {
  if (client === 'legacy') return bridge.initialize(all)
  bridge.speakModern(all)
  return bridge.ask('server/discover')
}

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
