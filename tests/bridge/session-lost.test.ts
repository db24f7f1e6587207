import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Remote } from '../support/remote/remote.ts'
import { underLoad } from '../support/under-load.ts'
import { type BridgeChild, errorOf, textOf } from '../support/bridge/process/bridge-child.ts'
import { muteServer } from '../support/bridge/process/socket-server.ts'
import { type Stage, staged, until } from '../support/bridge/process/stage.ts'

const ten = Array.from({ length: 10 }, (_, index) => index)

function oneStream(remote: Remote): Promise<void> {
  return until('one stream', () => remote.counters.streamsOpen === 1)
}

/** Looks whether a notification of the server arrives, and arrives once. */
async function hears(bridge: BridgeChild, remote: Remote): Promise<void> {
  const isNotice = ({ method }: JsonObject): boolean => method === 'notifications/tools/list_changed'
  const before = bridge.messages.filter(isNotice).length
  remote.changeTools()
  await until('the notice', () => bridge.messages.filter(isNotice).length > before)
  await bridge.call('echo', { text: 'after it' })
  expect(bridge.messages.filter(isNotice)).toHaveLength(before + 1)
}

describe.concurrent('a session that the server has forgotten', () => {
  it.each([404, 400] as const)('with %i: the next call makes another one', (lostSessionStatus) =>
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy', lostSessionStatus })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      await oneStream(remote)
      remote.dropSessions()
      expect(await bridge.call('echo', { text: 'on', key: 'next' })).toBe('on')
      expect(remote.counters.calls['next']).toBe(1)
      expect(remote.counters.sessionsOpened).toBe(2)
      await oneStream(remote)
      await hears(bridge, remote)
    })(),
  )

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

  it(
    'is replaced with its log level and its subscriptions',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      await bridge.ask('logging/setLevel', { level: 'warning' })
      await bridge.ask('resources/subscribe', { uri: 'note://one' })
      await bridge.ask('resources/subscribe', { uri: 'note://two' })
      await bridge.ask('resources/unsubscribe', { uri: 'note://one' })
      remote.dropSessions()
      await bridge.call('echo', {})
      await until('the log level', () => remote.logLevel() === 'warning')
      await until('the subscription', () => remote.subscriptions().join() === 'note://two')
      await oneStream(remote)
      await bridge.call('touch', { uri: 'note://two' })
      await bridge.find(({ method }) => method === 'notifications/resources/updated')
    }),
  )

  it(
    'again and again, with calls all the time: none is lost, and one session is left',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      const rounds = 5
      for (let round = 0; round < rounds; round += 1) {
        const calls = ten.map((n) => bridge.call('echo', { text: `${round} ${n}`, key: `${round} ${n}` }))
        remote.dropSessions()
        const more = ten.map((n) => bridge.call('echo', { text: `m${round} ${n}`, key: `m${round} ${n}` }))
        expect(await Promise.all([...calls, ...more])).toEqual(
          ['', 'm'].flatMap((mark) => ten.map((n) => `${mark}${round} ${n}`)),
        )
      }
      expect(Object.values(remote.counters.calls).every((times) => times === 1)).toBe(true)
      expect(remote.counters.sessionsOpen).toBe(1)
      await oneStream(remote)
      bridge.endInput()
      await bridge.over
      expect(remote.counters.sessionsOpen).toBe(0)
    }),
  )
})

describe.concurrent('a server that goes away', () => {
  it(
    'for four seconds: what is in flight fails by name, what comes waits, and all is well afterwards',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      await oneStream(remote)
      const inFlight = bridge.ask('tools/call', { name: 'slow', arguments: { ms: 60_000, key: 'flying' } })
      await until('the call', () => remote.counters.calls['flying'] === 1)
      await remote.stop()
      const failed = errorOf(await inFlight)
      expect(failed.data).toMatchObject({ code: 'network_reset', next_step: expect.any(String) as string })
      const during = [bridge.call('echo', { text: 'one' }), bridge.ask('tools/list')]
      await delay(4000)
      const begin = performance.now()
      await remote.start()
      expect(await during[0]).toBe('one')
      expect(await during[1]).toHaveProperty('result.tools')
      expect(performance.now() - begin).toBeLessThan(underLoad(3000))
      expect(await bridge.call('echo', { text: 'after' })).toBe('after')
      expect(remote.counters.sessionsOpened).toBe(1)
      await until('the stream', () => remote.counters.streamsOpen === 1)
      await hears(bridge, remote)
    }),
  )

  it(
    'and does not come back: the call fails with its cause after ten seconds, and the bridge lives',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      await oneStream(remote)
      await remote.stop()
      const begin = performance.now()
      const { data, message } = errorOf(await bridge.ask('tools/call', { name: 'echo', arguments: {} }))
      expect(data).toMatchObject({ code: 'network_refused', origin: remote.origin })
      expect(message).toContain(new URL(remote.url).host)
      const took = performance.now() - begin
      expect(took).toBeGreaterThan(7000)
      expect(took).toBeLessThan(underLoad(12_000))
      await remote.start()
      expect(await bridge.call('echo', { text: 'back' })).toBe('back')
    }),
  )

  it(
    'is down and known: the client is not answered from memory, but told at once',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const before = stage.bridge(remote.url)
      await before.initialize()
      before.endInput()
      await before.over
      await remote.stop()
      const begin = performance.now()
      const { data, message } = errorOf(await stage.bridge(remote.url).initialize())
      expect(data).toMatchObject({ code: 'network_refused' })
      expect(message).toContain('ECONNREFUSED')
      expect(performance.now() - begin).toBeLessThan(underLoad(2000))
    }),
  )

  it.each(['2025', '2026'])(
    'is down at the start and back later: a %s client gets the error at once, then answers',
    (year) =>
      staged(async (stage) => {
        const remote = await stage.remote()
        await remote.stop()
        const bridge = stage.bridge(remote.url)
        const begin = performance.now()
        const open = (): Promise<JsonObject> =>
          year === '2026' ? bridge.ask('server/discover') : bridge.initialize()
        if (year === '2026') bridge.speakModern()
        expect(errorOf(await open()).data).toMatchObject({ code: 'network_refused' })
        expect(errorOf(await bridge.ask('tools/list')).data).toMatchObject({ code: 'network_refused' })
        expect(performance.now() - begin).toBeLessThan(underLoad(3000))
        await remote.start()
        expect(await open()).toHaveProperty('result.capabilities')
        expect(await bridge.call('echo', { text: 'there' })).toBe('there')
      })(),
  )

  it(
    'within an answer: the call fails by name and is not repeated, and a list is',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      for (const fault of ['reset', 'cut'] as const) {
        remote.failNext(fault, 1, 'tools/call')
        const { data } = errorOf(await bridge.ask('tools/call', { name: 'echo', arguments: { key: fault } }))
        expect(data).toMatchObject({ code: 'network_reset' })
        expect(remote.counters.calls[fault]).toBeUndefined()
        remote.failNext('reset', 2, 'tools/list')
        expect(await bridge.ask('tools/list')).toHaveProperty('result.tools')
      }
    }),
  )
})

describe.concurrent.each(['legacy', 'modern'] as const)('an answer of a %s server that breaks off', (era) => {
  async function opened(stage: Stage, flags: readonly string[] = []): Promise<[Remote, BridgeChild]> {
    const remote = await stage.remote({ era })
    const bridge = stage.bridge(remote.url, { flags })
    if (era === 'modern') bridge.speakModern()
    else await bridge.initialize()
    await bridge.call('echo', {})
    return [remote, bridge]
  }

  it(
    'is asked for again where it is read only',
    staged(async (stage) => {
      const [remote, bridge] = await opened(stage)
      for (const [method, params] of [
        ['tools/list', {}],
        ['resources/read', { uri: 'note://one' }],
        ['prompts/get', { name: 'greet', arguments: { who: 'Ada' } }],
      ] as const) {
        remote.failNext('cut', 2, method)
        expect(await bridge.ask(method, params)).toHaveProperty('result')
        expect(remote.settings.faultTimes).toBe(0)
      }
    }),
  )

  it(
    'what opens the connection is asked again too, and leaves no session behind',
    staged(async (stage) => {
      const remote = await stage.remote({ era })
      const bridge = stage.bridge(remote.url)
      remote.failNext('cut', 1)
      if (era === 'modern') bridge.speakModern()
      const opening = era === 'modern' ? bridge.ask('server/discover') : bridge.initialize()
      expect(await opening).toHaveProperty('result')
      expect(await bridge.call('echo', { text: 'on' })).toBe('on')
      expect(remote.counters.sessionsOpen).toBe(era === 'modern' ? 0 : 1)
    }),
  )

  it(
    'is given up when it never comes whole, or nothing is to be tried again',
    staged(async (stage) => {
      for (const flags of [[], ['--retry', 'off']]) {
        const [remote, bridge] = await opened(stage, flags)
        remote.failNext('cut', 99, 'tools/list')
        const { data } = errorOf(await bridge.ask('tools/list'))
        expect(data).toMatchObject({ code: 'network_reset' })
        expect(99 - remote.settings.faultTimes).toBe(flags.length > 0 ? 1 : 4)
      }
    }),
  )
})

describe.concurrent('the standing stream', () => {
  it.each(['cut', 'ended'])('that was %s is back in time, with Last-Event-ID, and misses nothing', (how) =>
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      await oneStream(remote)
      await hears(bridge, remote)
      if (how === 'cut') remote.dropStreams()
      else remote.endStreams()
      await until('it is gone', () => remote.counters.streamsOpen === 0)
      const begin = performance.now()
      remote.broadcast('notifications/resources/list_changed')
      await bridge.find(({ method }) => method === 'notifications/resources/list_changed')
      expect(performance.now() - begin).toBeLessThan(underLoad(3500))
      expect(remote.counters.lastEventIds).toHaveLength(1)
      await oneStream(remote)
      expect(remote.counters.sessionsOpened).toBe(1)
    })(),
  )

  it(
    'of a subscription of 2026 is back after a cut for a client of 2025',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'modern' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      await oneStream(remote)
      remote.dropStreams()
      await until('it is gone', () => remote.counters.streamsOpen === 0)
      await until('it is back', () => remote.counters.streamsOpen === 1, underLoad(3500))
      await hears(bridge, remote)
    }),
  )
})

describe.concurrent('a server that says nothing', () => {
  it(
    'after it has taken a call: the call ends within 20 s, by name, and other calls go on',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await bridge.initialize()
      remote.failNext('hang', 99)
      const begin = performance.now()
      const { data, message } = errorOf(await bridge.ask('tools/call', { name: 'echo', arguments: {} }))
      expect(performance.now() - begin).toBeLessThan(20_000)
      expect(data).toMatchObject({ code: 'network_body_timeout', origin: remote.origin })
      expect(message).toContain('silent')
      remote.failNext(undefined, 0)
      expect(await bridge.call('echo', { text: 'on' })).toBe('on')
    }),
  )

  it.each(['2025', '2026'])('to a connection: the first request of a %s client ends by name', (year) =>
    staged(async (stage) => {
      const { url } = await muteServer(stage)
      const bridge = stage.bridge(url, { flags: ['--timeout', '1s', '--retry', 'off'] })
      if (year === '2026') bridge.speakModern()
      const answer = year === '2026' ? await bridge.ask('server/discover') : await bridge.initialize()
      expect(errorOf(answer).data).toMatchObject({ code: 'network_headers_timeout' })
    })(),
  )

  it(
    'for four seconds, and is known: the client is answered from memory, and its calls wait',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const before = stage.bridge(remote.url)
      await before.initialize()
      await before.ask('tools/list')
      before.endInput()
      await before.over
      remote.set({ delayMs: 4000 })
      const bridge = stage.bridge(remote.url)
      expect(await bridge.initialize()).toHaveProperty('result.serverInfo.name', 'remote')
      expect(remote.counters.sessionsOpened).toBe(1)
      const waiting = bridge.ask('tools/call', { name: 'echo', arguments: { text: 'late' } })
      await until('initialize came', () => remote.counters.sessionsOpened === 2)
      remote.set({ delayMs: 0 })
      expect(textOf(await waiting)).toBe('late')
    }),
  )
})
