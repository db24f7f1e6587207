import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Remote, RemoteOptions } from '../support/remote/remote.ts'
import { type BridgeChild, peakMegabytes } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

interface Scene {
  bridge: BridgeChild
  remote: Remote
}

async function opened(stage: Stage, options: RemoteOptions = { era: 'legacy' }): Promise<Scene> {
  const remote = await stage.remote(options)
  const bridge = stage.bridge(remote.url)
  await bridge.initialize()
  return { bridge, remote }
}

const times = 600

/** Writes the lines again and again, 600 times or until none was read for two seconds; returns how often. */
async function flood({ child: { stdin } }: BridgeChild, lines: string): Promise<number> {
  for (let written = 0; written < times; written += 1) {
    if (stdin === null || stdin.write(lines)) continue
    const taken = await Promise.race([once(stdin, 'drain').then(() => true), delay(2000, false)])
    if (!taken) return written
  }
  return times
}

function line(message: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
}

describe('a client that writes on and on', () => {
  it(
    'a client that floods a slow server with notifications is not read any further',
    staged(async (stage) => {
      const { bridge, remote } = await opened(stage)
      remote.set({ delayMs: 60_000 })
      const notice = line({ method: 'notifications/x', params: { text: 'x'.repeat(1000) } })
      expect(await flood(bridge, notice.repeat(100))).toBeLessThan(times)
      expect(peakMegabytes(bridge)).toBeLessThan(200)
    }),
  )

  it(
    'a client that floods the bridge with pings and reads nothing costs bounded memory, and works when it reads',
    staged(async (stage) => {
      const { bridge } = await opened(stage, { era: 'modern' })
      bridge.child.stdout?.pause()
      await flood(bridge, line({ id: 1, method: 'ping' }).repeat(1000))
      expect(peakMegabytes(bridge)).toBeLessThan(320)
      bridge.child.stdout?.resume()
      expect(await bridge.call('echo', { text: 'on' }, 'last')).toBe('on')
    }),
  )
})

describe.concurrent('a batch', () => {
  async function openedOld(stage: Stage): Promise<Scene> {
    const remote = await stage.remote({ era: 'legacy' })
    const bridge = stage.bridge(remote.url)
    await bridge.ask('initialize', { protocolVersion: '2025-03-26', capabilities: {} })
    bridge.write({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return { bridge, remote }
  }

  const ping = (id: string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"}`
  const pings = (count: number): string =>
    `[${Array.from({ length: count }, (_, index) => ping(`p${index}`)).join()}]`

  it(
    'the bridge answers a batch of more requests than may be under way at once',
    staged(async (stage) => {
      const { bridge } = await openedOld(stage)
      bridge.write(pings(1500))
      await until(() => bridge.messages.length >= 1501, 'all answers')
      expect(new Set(bridge.messages.map(({ id }) => id)).size).toBe(1501)
    }),
  )
})
