import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Remote } from '../support/remote/remote.ts'
import { underLoad } from '../support/under-load.ts'
import { type BridgeChild, errorOf } from '../support/bridge/process/bridge-child.ts'
import { staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

const ten = Array.from({ length: 10 }, (_, index) => index)

function oneStream(remote: Remote): Promise<void> {
  return until(() => remote.counters.streamsOpen === 1, 'one stream')
}

/** Looks whether a notification of the server arrives, and arrives once. */
async function hears(bridge: BridgeChild, remote: Remote): Promise<void> {
  const isNotice = ({ method }: JsonObject): boolean => method === 'notifications/tools/list_changed'
  const before = bridge.messages.filter(isNotice).length
  remote.changeTools()
  await until(() => bridge.messages.filter(isNotice).length > before, 'the notice')
  await bridge.call('echo', { text: 'after it' })
  expect(bridge.messages.filter(isNotice)).toHaveLength(before + 1)
}

describe.concurrent('a session that the server has forgotten', () => {
  it.each(['2025', '2026'])(
    'a burst of ten calls of a %s client: all are answered, one session is made',
    (year) =>
      staged(async (stage) => {
        const remote = await stage.remote({ era: 'legacy' })
        const bridge = stage.bridge(remote.url)
        if (year === '2026') bridge.speakModern()
        else await bridge.initialize()
        await bridge.call('echo', {})
        await oneStream(remote)
        remote.dropSessions()
        const answers = await Promise.all(ten.map((n) => bridge.call('echo', { text: `${n}`, key: `k${n}` })))
        expect(answers).toEqual(ten.map(String))
        expect(ten.map((n) => remote.counters.calls[`k${n}`])).toEqual(ten.map(() => 1))
        expect(remote.counters.sessionsOpened).toBe(2)
        expect(remote.counters.sessionsOpen).toBe(1)
        await oneStream(remote)
      })(),
  )
})

describe.concurrent('a server that goes away', () => {
  it(
    'for a while: what is in flight fails by name, what comes waits, and all is well afterwards',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      await oneStream(remote)
      const inFlight = bridge.ask('tools/call', { name: 'slow', arguments: { ms: 60_000, key: 'flying' } })
      await until(() => remote.counters.calls['flying'] === 1, 'the call')
      await remote.stop()
      const failed = errorOf(await inFlight)
      expect(failed.data).toMatchObject({ code: 'network_reset', next_step: expect.any(String) as string })
      const during = [bridge.call('echo', { text: 'one' }), bridge.ask('tools/list')]
      await delay(1500)
      const begin = performance.now()
      await remote.start()
      expect(await during[0]).toBe('one')
      expect(await during[1]).toHaveProperty('result.tools')
      expect(performance.now() - begin).toBeLessThan(underLoad(3000))
      expect(await bridge.call('echo', { text: 'after' })).toBe('after')
      expect(remote.counters.sessionsOpened).toBe(1)
      await until(() => remote.counters.streamsOpen === 1, 'the stream')
      await hears(bridge, remote)
    }),
  )
})

describe.concurrent('the standing stream', () => {
  it(
    'of a subscription of 2026 is back after a cut for a client of 2025',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'modern' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      await oneStream(remote)
      remote.dropStreams()
      await until(() => remote.counters.streamsOpen === 0, 'it is gone')
      await until(() => remote.counters.streamsOpen === 1, 'it is back', underLoad(3500))
      await hears(bridge, remote)
    }),
  )
})
