import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Remote, RemoteOptions } from '../support/remote/remote.ts'
import { type BridgeChild, errorOf, peakMegabytes, textOf } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged, until } from '../support/bridge/process/stage.ts'

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

/** Writes the lines again and again, 600 times or until nobody has taken any for two seconds; returns how often. */
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

const kilobyte = 'x'.repeat(1000)

describe('a client that writes on and on', () => {
  it.each([
    ['notifications', { method: 'notifications/x', params: { text: kilobyte } }],
    ['answers to nobody', { id: 'nobody', result: { text: kilobyte } }],
  ])('%s, to a server that takes its time: it is not read any further', (_, message) =>
    staged(async (stage) => {
      const { bridge, remote } = await opened(stage)
      remote.set({ delayMs: 60_000 })
      expect(await flood(bridge, line(message).repeat(100))).toBeLessThan(times)
      expect(peakMegabytes(bridge)).toBeLessThan(200)
    })(),
  )

  it(
    'notifications, before its session is there: it is not read any further',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy', delayMs: 60_000 })
      const bridge = stage.bridge(remote.url)
      bridge.write({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { capabilities: {} } })
      const notice = line({ method: 'notifications/x', params: { text: kilobyte } })
      expect(await flood(bridge, notice.repeat(100))).toBeLessThan(times)
      expect(peakMegabytes(bridge)).toBeLessThan(200)
    }),
  )

  it.each<[string, RemoteOptions, string]>([
    ['what is no message', { era: 'legacy' }, 'x\n'],
    ['requests that are answered here', { era: 'modern' }, line({ id: 1, method: 'ping' })],
  ])('%s, and reads nothing: memory stays bounded, and all is well when it reads', (_, options, text) =>
    staged(async (stage) => {
      const { bridge } = await opened(stage, options)
      bridge.child.stdout?.pause()
      await flood(bridge, text.repeat(1000))
      expect(peakMegabytes(bridge)).toBeLessThan(320)
      bridge.child.stdout?.resume()
      expect(await bridge.call('echo', { text: 'on' }, 'last')).toBe('on')
    })(),
  )
})

describe.concurrent('an id', () => {
  const ids: [text: string, id: unknown][] = [
    ['1.5', 1.5],
    ['-7', -7],
    [`"${'i'.repeat(1_000_000)}"`, 'i'.repeat(1_000_000)],
    ['""', ''],
    ['"\\ud800"', '\ud800'],
    ['"__proto__"', '__proto__'],
    ['"a\\nb"', 'a\nb'],
  ]

  it.each(['legacy', 'modern'] as const)('of any kind is answered as it is, by a %s server', (era) =>
    staged(async (stage) => {
      const { bridge } = await opened(stage, { era })
      for (const [text, id] of ids) {
        const params = '{"name":"echo","arguments":{"text":"hi"}}'
        bridge.write(`{"jsonrpc":"2.0","id":${text},"method":"tools/call","params":${params}}`)
        expect(textOf(await bridge.find((message) => message['id'] === id))).toBe('hi')
      }
    })(),
  )

  it(
    'as a number and as a text are two',
    staged(async (stage) => {
      for (const era of ['legacy', 'modern'] as const) {
        const { bridge } = await opened(stage, { era })
        const slow = bridge.call('slow', { ms: 300, text: 'number' }, 7)
        const other = bridge.call('slow', { ms: 200, text: 'text' }, '7')
        expect(await Promise.all([slow, other])).toEqual(['number', 'text'])
      }
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
    'that is none is refused once, and the next line is served',
    staged(async (stage) => {
      const { bridge } = await openedOld(stage)
      const nested = `${'['.repeat(200_000)}${ping('deep')}${']'.repeat(200_000)}`
      for (const text of [nested, pings(10_001), '[]']) bridge.write(text)
      expect(await bridge.call('echo', { text: 'next' })).toBe('next')
      const refused = bridge.messages.filter(({ id }) => id === null)
      expect(refused.map((message) => errorOf(message).code)).toEqual([-32_600, -32_600, -32_600])
    }),
  )

  it(
    'of more than may be under way at once is answered whole',
    staged(async (stage) => {
      const { bridge } = await openedOld(stage)
      bridge.write(pings(1500))
      await until('all answers', () => bridge.messages.length >= 1501)
      expect(new Set(bridge.messages.map(({ id }) => id)).size).toBe(1501)
    }),
  )
})

describe.concurrent('a line', () => {
  it(
    'of exactly 64 MB is served',
    staged(async (stage) => {
      const { bridge } = await opened(stage)
      const [head, tail] = ['{"jsonrpc":"2.0","id":"big","method":"nothing","params":{"text":"', '"}}']
      const room = 64 * 1024 * 1024 - head.length - tail.length
      bridge.write(head + 'x'.repeat(room) + tail)
      expect(errorOf(await bridge.find(({ id }) => id === 'big')).code).toBe(-32_601)
    }),
  )

  it.each(['legacy', 'modern'] as const)(
    'whose progress token another call has as well: both are answered (%s server)',
    (era) =>
      staged(async (stage) => {
        const { bridge } = await opened(stage, { era })
        const params = { name: 'progress', arguments: {}, _meta: { progressToken: 'same' } }
        const answers = await Promise.all([1, 2].map(() => bridge.ask('tools/call', params)))
        for (const answer of answers) expect(answer).toHaveProperty('result')
      })(),
  )
})
