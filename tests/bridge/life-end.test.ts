import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Remote } from '../support/remote/remote.ts'
import { slowness } from '../support/under-load.ts'
import { type BridgeChild, textOf } from '../support/bridge/process/bridge-child.ts'
import { muteServer } from '../support/bridge/process/socket-server.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

interface Reached {
  bridge: BridgeChild
  remote?: Remote
}

/** Brings a bridge into a phase of its life. */
type Phase = (stage: Stage) => Promise<Reached>

/** Time in these bridges, and so the second in which they have to end, is as much slower as this computer is. */
const slower = slowness()
const slowerClock = new URL('../support/bridge/sign-in/slower-clock.ts', import.meta.url).href
const environment = { NODE_OPTIONS: `--import=${slowerClock}`, SLOWNESS: String(slower) }

function bridgeOf(stage: Stage, url: string, flags: readonly string[] = []): BridgeChild {
  return stage.bridge(url, { flags, environment })
}

async function reachIdle(stage: Stage, flags: readonly string[] = []): Promise<Required<Reached>> {
  const remote = await stage.remote({ era: 'legacy' })
  const bridge = bridgeOf(stage, remote.url, flags)
  await bridge.initialize()
  await until(() => remote.counters.streamsOpen === 1, 'the stream of the session is open')
  return { bridge, remote }
}

function started(bridge: BridgeChild): Promise<void> {
  return until(() => bridge.stderr().includes('\n'), 'the first line on stderr')
}

const phases: Readonly<Record<string, Phase>> = {
  'it has just started': async (stage) => {
    const remote = await stage.remote()
    const bridge = bridgeOf(stage, remote.url)
    await started(bridge)
    return { bridge, remote }
  },
  'it connects to a mute server': async (stage) => {
    const { url, sockets } = await muteServer(stage)
    const bridge = bridgeOf(stage, url)
    void bridge.initialize().catch(() => {})
    await until(() => sockets.size > 0, 'a connection')
    return { bridge }
  },
  'a sign-in is pending': async (stage) => {
    const remote = await stage.remote({ auth: true, approval: 'wait' })
    const bridge = bridgeOf(stage, remote.url, ['--store', 'memory'])
    await bridge.initialize()
    void bridge.call('echo', {}, 'waiting')
    await until(() => bridge.stderr().includes('response_type=code'), 'the link')
    return { bridge, remote }
  },
  'it is idle, and a stream is open': (stage) => reachIdle(stage),
  'calls are in flight': async (stage) => {
    const { bridge, remote } = await reachIdle(stage)
    for (const key of ['a', 'b', 'c']) void bridge.call('slow', { ms: 60_000, key })
    await until(() => ['a', 'b', 'c'].every((key) => remote.counters.calls[key] === 1), 'the calls')
    return { bridge, remote }
  },
  'the call of a 2025 client is at a server of 2026': async (stage) => {
    const remote = await stage.remote({ era: 'modern' })
    const bridge = bridgeOf(stage, remote.url)
    await bridge.initialize()
    void bridge.call('slow', { ms: 60_000 })
    await until(() => remote.counters.calls['slow'] === 1, 'the call')
    return { bridge, remote }
  },
  'it subscribes to a server of 2026': async (stage) => {
    const remote = await stage.remote({ era: 'modern' })
    const bridge = bridgeOf(stage, remote.url)
    bridge.speakModern()
    await bridge.ask('server/discover')
    void bridge.ask('subscriptions/listen', { notifications: { toolsListChanged: true } })
    await until(() => remote.counters.streamsOpen === 1, 'the stream')
    return { bridge, remote }
  },
}

/** The bridge gives itself 0.85 s of it. */
const aSecondMs = 1000 * slower

async function endsInTime(bridge: BridgeChild, end: (bridge: BridgeChild) => void): Promise<void> {
  const begin = performance.now()
  end(bridge)
  const { code, signal, at } = await bridge.over
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  expect(at - begin).toBeLessThan(aSecondMs)
}

/** How a bridge is ended is decided once, so each way is met in one phase, and each phase ends in one way. */
const lives = [
  ...Object.keys(phases).map((phase) => ['stdin ends', phase] as const),
  ...(['SIGTERM', 'SIGINT', 'SIGHUP'] as const).map((ending) => [ending, 'calls are in flight'] as const),
]

describe.concurrent('a bridge', () => {
  it.each(lives)(
    'a bridge that ends by %s while %s exits with 0 within a second, and leaves no session',
    (ending, phase) =>
      staged(async (stage) => {
        const reach = phases[phase] as Phase
        const { bridge, remote } = await reach(stage)
        await endsInTime(bridge, () => (ending === 'stdin ends' ? bridge.endInput() : bridge.kill(ending)))
        if (remote === undefined) return
        await until(() => remote.counters.sessionsOpen === 0, 'the session is closed')
        expect(remote.counters.deletes).toBe(remote.counters.sessionsOpened)
        await until(() => remote.counters.streamsOpen === 0, 'the streams are closed')
      })(),
  )
})

describe.concurrent('the end of a bridge', () => {
  it(
    'a bridge ends within a second although the server answers nothing any more',
    staged(async (stage) => {
      const { bridge, remote } = await reachIdle(stage)
      void bridge.call('slow', { ms: 60_000 })
      await until(() => remote.counters.calls['slow'] === 1, 'the call')
      remote.set({ delayMs: 60_000 })
      await endsInTime(bridge, () => bridge.endInput())
      expect(remote.counters.requests['DELETE /mcp']).toBe(1)
    }),
  )
})

/** The lines of a script that writes all it has to say and closes its end. */
function scriptOf(...calls: JsonObject[]): string {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sh', version: '1' } }
  return [{ id: 'open', method: 'initialize', params }, { method: 'notifications/initialized' }, ...calls]
    .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    .join('')
}

function callOf(id: string, name: string, args: JsonObject): JsonObject {
  return { id, method: 'tools/call', params: { name, arguments: args } }
}

describe.concurrent('a script that writes its requests and closes stdin', () => {
  it(
    'a script that closes stdin is told that a sign-in is needed, and no browser opens',
    staged(async (stage) => {
      const remote = await stage.remote({ auth: true, approval: 'wait' })
      const bridge = bridgeOf(stage, remote.url, ['--store', 'memory'])
      const closed = once(bridge.child, 'close')
      const begin = performance.now()
      bridge.child.stdin?.end(scriptOf(callOf('echo', 'echo', {})))
      expect(await closed).toEqual([0, null])
      expect(performance.now() - begin).toBeLessThan(2 * aSecondMs)
      expect(textOf(bridge.messages.find(({ id }) => id === 'echo') ?? {})).toContain('sign-in')
      expect(bridge.stderr()).not.toContain('response_type=code')
    }),
  )

  it(
    'a script that closes stdin and reads nothing does not keep the bridge alive',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = bridgeOf(stage, remote.url)
      await bridge.initialize()
      bridge.child.stdout?.pause()
      void bridge.call('echo', { text: 'x'.repeat(4 * 1024 * 1024), key: 'big' })
      await until(() => remote.counters.calls['big'] === 1, 'the call')
      await endsInTime(bridge, () => bridge.endInput())
    }),
  )
})

describe('a script that writes more calls than are under way at once, and closes stdin', () => {
  it(
    'a script that writes more calls than may be under way, and closes stdin, gets every answer',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = bridgeOf(stage, remote.url)
      const text = 'x'.repeat(1000)
      const calls = Array.from({ length: 2000 }, (_, n) => callOf(`n${n}`, 'echo', { text }))
      const closed = once(bridge.child, 'close')
      bridge.child.stdin?.end(scriptOf(...calls))
      expect(await closed).toEqual([0, null])
      const answered = new Set(bridge.messages.map(({ id }) => id))
      expect(calls.map(({ id }) => id).filter((id) => !answered.has(id))).toEqual([])
    }),
  )
})
