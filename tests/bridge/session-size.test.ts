import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { sendJson } from '../support/remote/exchange-parts.ts'
import { type BridgeChild, peakMegabytes, textOf } from '../support/bridge/process/bridge-child.ts'
import { echoedBy, startEchoServer } from '../support/bridge/process/echo-server.ts'
import { type Stage, staged, until } from '../support/bridge/process/stage.ts'

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
async function startLongServer(
  stage: Stage,
  era: 'legacy' | 'modern',
  text: string,
  { gate, reply = 'json' }: { gate?: Promise<void>; reply?: 'json' | 'sse' } = {},
): Promise<{ url: string; calls(): number }> {
  const server = await startEchoServer(stage, era, async (response, answer) => {
    await gate
    const message = answer({ content: [{ type: 'text', text }] })
    if (reply === 'json') return sendJson(response, 200, message)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify(message)}\n\n`)
  })
  return { url: server.url, calls: () => server.of('tools/call').length }
}

async function open(bridge: BridgeChild, era: 'legacy' | 'modern'): Promise<void> {
  if (era === 'modern') {
    bridge.speakModern()
    await bridge.ask('server/discover')
  } else await bridge.initialize()
}

const pairs = [
  ['legacy', 'legacy'],
  ['legacy', 'modern'],
  ['modern', 'legacy'],
  ['modern', 'modern'],
] as const

describe.each(pairs)('a %s client of a %s server', (client, serverEra) => {
  it(
    'gets a result of 10 MB as it was sent, and memory stays bounded',
    staged(async (stage) => {
      const text = longText(10 * megabyte)
      const { url } = await startLongServer(stage, serverEra, text)
      const bridge = stage.bridge(url)
      await open(bridge, client)
      expect(digest(await bridge.call('long'))).toBe(digest(text))
      if (client === serverEra) expect(peakMegabytes(bridge)).toBeLessThan(160)
    }),
  )

  it(
    'sends 5 MB of arguments as they were given',
    staged(async (stage) => {
      const echo = await startEchoServer(stage, serverEra)
      const bridge = stage.bridge(echo.url)
      await open(bridge, client)
      const text = longText(5 * megabyte)
      const answer = await bridge.ask('tools/call', { name: 'echo', arguments: { text, after: 1 } })
      const params = echoedBy(answer)['params']
      const args = isJsonObject(params) && isJsonObject(params['arguments']) ? params['arguments'] : {}
      expect(digest(args['text'])).toBe(digest(text))
      expect(args['after']).toBe(1)
    }),
  )
})

describe('backpressure', () => {
  it.each(['json', 'sse'] as const)(
    'a client that reads nothing for a while: answers (%s) wait at the server, not in memory, and all arrive',
    (reply) =>
      staged(async (stage) => {
        const text = longText(5 * megabyte)
        const { url, calls } = await startLongServer(stage, 'legacy', text, { reply })
        const bridge = stage.bridge(url)
        await open(bridge, 'legacy')
        const count = 30
        bridge.child.stdout?.pause()
        const answers = Array.from({ length: count }, (_, n) =>
          bridge.ask('tools/call', { name: 'long' }, `n${n}`),
        )
        await until('the server is asked', () => calls() > 0)
        await delay(1500)
        // 150 MB are waiting.
        expect(peakMegabytes(bridge)).toBeLessThan(220)
        bridge.child.stdout?.resume()
        const expected = digest(text)
        for (const answer of answers) expect(digest(textOf(await answer))).toBe(expected)
      })(),
    120_000,
  )

  it(
    'a client that asks faster than the server answers: its stdin is not read any further, and every call is answered',
    staged(async (stage) => {
      let answer = (): void => {}
      const gate = new Promise<void>((resolve) => (answer = resolve))
      const { url, calls } = await startLongServer(stage, 'legacy', 'ok', { gate })
      const bridge = stage.bridge(url)
      await open(bridge, 'legacy')
      const text = 'x'.repeat(megabyte)
      const count = 120
      const answers = Array.from({ length: count }, (_, n) => bridge.call('take', { text }, `n${n}`))
      let before = -1
      await until('no more comes through', async () => {
        before = calls()
        await delay(700)
        return before > 0 && before === calls()
      })
      // 64 MB of calls may be under way, and what had been read when there were as many.
      expect(before).toBeLessThan(90)
      answer()
      expect(new Set(await Promise.all(answers))).toEqual(new Set(['ok']))
      expect(calls()).toBe(count)
      expect(peakMegabytes(bridge)).toBeLessThan(300)
    }),
    120_000,
  )

  it(
    'three thousand small calls at once are all answered',
    staged(async (stage) => {
      const remote = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(remote.url)
      await open(bridge, 'legacy')
      const all = Array.from({ length: 3000 }, (_, n) =>
        bridge.call('echo', { text: `${n}`, key: 'many' }, n + 1000),
      )
      expect(await Promise.all(all)).toEqual(Array.from({ length: 3000 }, (_, n) => `${n}`))
      expect(remote.counters.calls['many']).toBe(3000)
    }),
  )
})
