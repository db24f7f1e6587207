import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { staged } from '../support/bridge/process/stage.ts'
import type { Received } from '../support/remote/received.ts'
import { openBridge } from './odd-server.ts'

const text = 'Grüße, 東京 🚲 \u2028 end'

/** How servers write the one event of an answer; each element is sent by itself. */
const framings: Record<string, (answer: string) => string[]> = {
  'CRLF line ends': (answer) => [`event: message\r\ndata: ${answer}\r\n\r\n`],
  'CRLF line ends that are split between two pieces': (answer) => [
    `event: message\r`,
    `\ndata: ${answer}\r`,
    `\n\r`,
    `\n`,
  ],
  'several data lines': (answer) => {
    const lines = JSON.stringify(JSON.parse(answer), null, 2).split('\n')
    return [...lines.map((line) => `data: ${line}\n`), '\n']
  },
  'no blank after the colon, and comments': (answer) => [': hello\n\n', `:ping\nid:1\ndata:${answer}\n\n`],
  'CR line ends': (answer) => [`event: message\rdata: ${answer}\r\r`],
  'line ends of all kinds': (answer) => [`: a\r:b\n\r\nevent: message\rid: 1\ndata: ${answer}\r`, '\n\r'],
  'a byte order mark before the first event': (answer) => ['\ufeff', `data: ${answer}\n\n`],
}

/** As those that leave out what follows the last event. */
const unfinished: typeof framings = {
  'no empty line at its end': (answer) => [`data: ${answer}\n`],
  'no line end at its end': (answer) => [`data: ${answer}`],
}

const cases = [
  ...Object.keys({ ...framings, ...unfinished }).map((name) => [name, 'ends'] as const),
  ...Object.keys(framings).map((name) => [name, 'stays open'] as const),
]

describe.concurrent('an event stream with', () => {
  it.each(cases)(
    'an event stream with %s that %s carries the answer to a call, and its characters',
    (name, then) =>
      staged(async (stage) => {
        const { url } = await stage.remote({
          era: 'legacy',
          async handle({ body, events }: Received) {
            if (body['method'] !== 'tools/call') return false
            const result = { content: [{ type: 'text', text }] }
            const answer = JSON.stringify({ jsonrpc: '2.0', id: body['id'], result })
            const stream = events()
            for (const piece of { ...framings, ...unfinished }[name]?.(answer) ?? []) {
              const bytes = Buffer.from(piece)
              for (let at = 0; at < bytes.length; at += 37) {
                stream.write(bytes.subarray(at, at + 37))
                await delay(1)
              }
            }
            if (then === 'ends') stream.end()
            return true
          },
        })
        const { bridge } = await openBridge(stage, url)
        expect(await bridge.call('echo')).toBe(text)
      })(),
  )
})
