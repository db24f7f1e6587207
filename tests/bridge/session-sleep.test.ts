import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Remote, RemoteOptions } from '../support/remote/remote.ts'
import type { BridgeChild } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

const computer = new URL('../support/other-clock.ts', import.meta.url).href

interface Scene {
  remote: Remote
  bridge: BridgeChild
  /** The computer of the bridge sleeps for an hour. Resolves when it is awake again; the bridge may not have noticed. */
  sleep(): Promise<void>
}

/** A bridge with an open session and its stream. */
async function opened(stage: Stage, settings: RemoteOptions = {}): Promise<Scene> {
  const remote = await stage.remote({ era: 'legacy', ...settings })
  const bridge = stage.bridge(settings.transport === 'sse' ? remote.sseUrl : remote.url, {
    environment: { NODE_OPTIONS: `--import ${computer}`, CLOCK_JUMP_SECONDS: '3600' },
  })
  await bridge.initialize()
  await bridge.call('echo', {})
  await until(() => remote.counters.streamsOpen === 1, 'a stream')
  let naps = 0
  const isAwake = (): boolean => bridge.stderr().split('the clock has jumped').length - 1 === naps
  return {
    remote,
    bridge,
    async sleep() {
      naps += 1
      bridge.kill('SIGUSR2')
      await until(isAwake, 'it is awake')
    },
  }
}

describe.concurrent('after a sleep of the computer', () => {
  it(
    'after a sleep of the computer the bridge pings the server and reopens the stream of its session, also with calls under way',
    staged(async (stage) => {
      const { remote, bridge, sleep } = await opened(stage)
      remote.broadcast('notifications/resources/list_changed')
      const pings = remote.counters.methods['ping'] ?? 0
      await sleep()
      const young = bridge.call('slow', { ms: 2500, text: 'young' })
      await until(() => (remote.counters.methods['ping'] ?? 0) > pings, 'a ping')
      // At once, and not after the wait that follows a stream which broke.
      await until(() => remote.counters.streamsOpened === 2, 'another stream', 2000)
      await until(() => remote.counters.streamsOpen === 1, 'the first is gone')
      expect(remote.counters.lastEventIds).toHaveLength(1)
      expect(remote.counters.sessionsOpened).toBe(1)
      expect(await young).toBe('young')
      remote.changeTools()
      await bridge.find(({ method }) => method === 'notifications/tools/list_changed')
    }),
  )

  it(
    'after a sleep of the computer a client of 2025 is subscribed again at a server of 2026, so that it hears each change once',
    staged(async (stage) => {
      const { remote, bridge, sleep } = await opened(stage, { era: 'modern' })
      await sleep()
      await until(() => remote.counters.streamsOpened === 2, 'another subscription')
      await until(() => remote.counters.streamsOpen === 1, 'the first is gone')
      remote.changeTools()
      const isNotice = ({ method }: JsonObject): boolean => method === 'notifications/tools/list_changed'
      await bridge.find(isNotice)
      await bridge.call('echo', {})
      expect(bridge.messages.filter(isNotice)).toHaveLength(1)
    }),
  )

  it(
    'after a sleep of the computer the one stream of a server of 2024 is given up only if it brings no answer',
    staged(async (stage) => {
      const { remote, bridge, sleep } = await opened(stage, { transport: 'sse' })
      await sleep()
      await until(() => remote.counters.methods['ping'] === 1, 'a ping')
      expect(await bridge.call('echo', { text: 'same' })).toBe('same')
      expect(remote.counters.streamsOpened).toBe(1)
      let pings = 0
      remote.set({ handle: ({ body }) => body['method'] === 'ping' && (pings += 1) === 1 })
      await sleep()
      await until(() => remote.counters.streamsOpened === 2, 'another stream')
      expect(await bridge.call('echo', { text: 'another' })).toBe('another')
    }),
  )
})
