import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { peakMegabytes, textOf } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import type { Remote } from '../support/remote/remote.ts'
import { until } from '../support/until.ts'

const megabyte = 1024 * 1024

/** Text that a lost, doubled or swapped chunk changes, with everything in it that JSON and UTF-8 make hard. */
function longText(bytes: number): string {
  const parts: string[] = []
  for (let length = 0, n = 0; length < bytes; n += 1) {
    const part = `${n} "quoted" \\ ä € 😀 \u2028 \n`
    parts.push(part)
    length += Buffer.byteLength(part)
  }
  return parts.join('')
}

function digest(value: unknown): string {
  return createHash('sha256').update(String(value)).digest('hex')
}

/** Serves results with `text` as their content; answers no call before `gate` is through. */
function startLongServer(
  stage: Stage,
  era: 'legacy' | 'modern',
  text: string,
  gate?: Promise<void>,
): Promise<Remote> {
  return stage.remote({
    era,
    async handle({ body: { method }, answer }) {
      if (method !== 'tools/call') return false
      await gate
      answer({ result: { resultType: 'complete', content: [{ type: 'text', text }] } })
      return true
    },
  })
}

const callsOf = (server: Remote): number =>
  server.received.filter(({ body }) => body['method'] === 'tools/call').length

it.each([
  ['legacy', 'legacy'],
  ['legacy', 'modern'],
  ['modern', 'modern'],
] as const)(
  'megabytes of a %s client and a %s server arrive unchanged, and memory stays bounded',
  (client, era) =>
    staged(async (stage) => {
      const text = longText(10 * megabyte)
      const server = await startLongServer(stage, era, text)
      const bridge = stage.bridge(server.url)
      if (client === 'modern') bridge.speakModern()
      else await bridge.initialize()
      expect(digest(await bridge.call('long'))).toBe(digest(text))
      if (client === era) expect(peakMegabytes(bridge)).toBeLessThan(180)
      const half = text.slice(0, text.length / 2)
      await bridge.call('take', { text: half, after: 1 })
      const sent = server.received.findLast(({ body }) => body['method'] === 'tools/call')
      const params = sent?.body['params'] as { arguments: Record<string, unknown> } | undefined
      expect(digest(params?.arguments['text'])).toBe(digest(half))
      expect(params?.arguments['after']).toBe(1)
    })(),
)

describe('backpressure', () => {
  it(
    'answers to a client that stops reading for a while wait at the server, not in memory, and all arrive',
    staged(async (stage) => {
      const text = longText(5 * megabyte)
      const server = await startLongServer(stage, 'legacy', text)
      const bridge = stage.bridge(server.url)
      await bridge.initialize()
      bridge.child.stdout?.pause()
      const answers = Array.from({ length: 30 }, (_, n) =>
        bridge.ask('tools/call', { name: 'long' }, `n${n}`),
      )
      await until(() => callsOf(server) > 0, 'the server is asked')
      await delay(1500)
      // 150 MB are waiting.
      expect(peakMegabytes(bridge)).toBeLessThan(220)
      bridge.child.stdout?.resume()
      for (const answer of answers) expect(textOf(await answer)).toHaveLength(text.length)
    }),
    120_000,
  )

  it(
    'a client that asks faster than the server answers is not read any further, and every call is answered',
    staged(async (stage) => {
      let answer = (): void => {}
      const gate = new Promise<void>((resolve) => (answer = resolve))
      const server = await startLongServer(stage, 'legacy', 'ok', gate)
      const bridge = stage.bridge(server.url)
      await bridge.initialize()
      const text = 'x'.repeat(megabyte)
      const count = 100
      const answers = Array.from({ length: count }, (_, n) => bridge.call('take', { text }, `n${n}`))
      let before = -1
      await until(async () => {
        before = callsOf(server)
        await delay(500)
        return before > 0 && before === callsOf(server)
      }, 'no more comes through')
      // 64 MB of calls may be under way, and what had been read when there were as many.
      expect(before).toBeLessThan(90)
      answer()
      expect(new Set(await Promise.all(answers))).toEqual(new Set(['ok']))
      expect(callsOf(server)).toBe(count)
      expect(peakMegabytes(bridge)).toBeLessThan(300)
    }),
    120_000,
  )
})
