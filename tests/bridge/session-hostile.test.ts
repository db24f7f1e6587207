import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { type BridgeChild, errorOf, peakMegabytes, textOf } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { nameOf, type Received } from '../support/remote/received.ts'
import type { Remote, RemoteOptions } from '../support/remote/remote.ts'
import { until } from '../support/until.ts'

type Give = (call: Received) => void

/** A server of 2025-11-25 that keeps to the rules but for its answers to calls, and what else is said. */
async function opened(
  stage: Stage,
  { call, get, ...options }: RemoteOptions & { call?: Give; get?: Give },
): Promise<{ bridge: BridgeChild; crook: Remote }> {
  const crook = await stage.remote({
    era: 'legacy',
    tools: [],
    handle(request) {
      const give = { GET: get, 'tools/call': call }[nameOf(request)]
      give?.(request)
      return give !== undefined
    },
    ...options,
  })
  const bridge = stage.bridge(crook.url)
  await bridge.initialize()
  return { bridge, crook }
}

function fine(id: unknown, text = 'fine'): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })
}

const call = { name: 'x', arguments: { text: 'fine' } }
const megabyte = 1024 * 1024
const deep = '['.repeat(400_000) + ']'.repeat(400_000)

/** Writes the block so many times, as fast as it is taken, and calls `end` behind it. */
function pour(to: Writable, times: number, block: Buffer, end: () => void, each?: () => void): void {
  let left = times
  const more = (): void => {
    for (; left > 0 && !to.destroyed; left -= 1) {
      to.write(block)
      each?.()
      if (to.writableNeedDrain) {
        left -= 1
        return void to.once('drain', more)
      }
    }
    if (!to.destroyed) end()
  }
  more()
}

function pourMegabytes(to: Writable, megabytes: number, before = ''): void {
  to.write(before)
  pour(to, megabytes, Buffer.alloc(megabyte, 0x20), () => void to.end())
}

const ask = (bridge: BridgeChild, id?: string): Promise<JsonObject> => bridge.ask('tools/call', call, id)

describe.concurrent('a server that answers with', () => {
  it.each<[string, Give]>([
    ['100 MB as JSON', ({ response }) => pourMegabytes(response.writeHead(200), 100)],
    ['100 MB as the name of an event', ({ events }) => pourMegabytes(events(), 100, 'event: ')],
  ])('an answer of %s ends its call by name, and memory stays bounded', (_, give) =>
    staged(async (stage) => {
      let calls = 0
      const { bridge } = await opened(stage, {
        call: (one) => ((calls += 1) === 1 ? give(one) : one.json(200, fine(one.body['id']))),
      })
      expect(errorOf(await ask(bridge)).data).toMatchObject({ code: 'server_too_large' })
      expect(textOf(await ask(bridge))).toBe('fine')
      expect(peakMegabytes(bridge)).toBeLessThan(260)
    })(),
  )

  it.each<[string, number, string]>([
    ['an event of a million lines without a word', 50, 'data\n'],
    ['five million comments', 250, ': x\n'],
  ])('an answer of %s takes no more memory than it has bytes', (_, times, line) =>
    staged(async (stage) => {
      const { bridge } = await opened(stage, {
        call: ({ body: { id }, events, response }) =>
          pour(events(), times, Buffer.from(line.repeat(20_000)), () =>
            response.end(`\ndata: ${fine(id)}\n\n`),
          ),
      })
      expect(textOf(await ask(bridge))).toBe('fine')
      expect(peakMegabytes(bridge)).toBeLessThan(200)
    })(),
  )

  it(
    'notifications to a client that does not read wait at the server',
    staged(async (stage) => {
      let written = 0
      const notice = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${'x'.repeat(200)}"}}\n\n`
      const block = Buffer.from(notice.repeat(400))
      const { bridge } = await opened(stage, {
        get: ({ events }) =>
          pour(
            events(),
            4000,
            block,
            () => {},
            () => (written += 1),
          ),
      })
      bridge.child.stdout?.pause()
      let before = -1
      await until(async () => {
        before = written
        await delay(700)
        return before > 0 && before === written
      }, 'no more is taken')
      expect(peakMegabytes(bridge)).toBeLessThan(150)
      bridge.child.stdout?.resume()
      await until(() => written > before, 'more is taken')
    }),
  )

  it.each([
    ['2025', 'legacy'],
    ['2026', 'modern'],
  ] as const)(
    'a client of a %s server is answered again and again when its tools nest without end',
    (year, era) =>
      staged(async (stage) => {
        const tools = `[{"name":"x","inputSchema":{"type":"object","default":${deep}}}]`
        const crook = await stage.remote({
          era,
          tools: [],
          handle({ body: { id, method }, json }) {
            if (method !== 'tools/list') return false
            json(200, `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${tools}}}`)
            return true
          },
        })
        const bridge = stage.bridge(crook.url)
        await bridge.initialize()
        for (const _ of [1, 2]) {
          const said = await bridge.ask('tools/list')
          // As it came, or by name where it would have to be rewritten.
          if (year === '2025') expect(said).toHaveProperty('result.tools.0.name', 'x')
          else expect(errorOf(said).data).toMatchObject({ code: 'server_too_large' })
        }
        expect(textOf(await ask(bridge))).toContain('fine')
      })(),
  )
})

describe.concurrent('a server whose streams', () => {
  it(
    'a server whose requests have ids of the client keeps both apart: each side answers its own',
    staged(async (stage) => {
      const { bridge, crook } = await opened(stage, {
        call({ body: { id }, events, response }) {
          events()
          for (const each of [7, 1, 'x', 1.5, null])
            response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: each, method: 'roots/list' })}\n\n`)
          setTimeout(() => response.end(`data: ${fine(id)}\n\n`), 300)
        },
      })
      bridge.answerWith((method) => (method === 'roots/list' ? { roots: [] } : undefined))
      expect(textOf(await bridge.ask('tools/call', call, 7))).toBe('fine')
      const answered = (): unknown[] =>
        crook.received.filter(({ body }) => 'result' in body).map(({ body }) => body['id'] as unknown)
      await until(() => answered().length === 4, 'the answers')
      expect(new Set(answered())).toEqual(new Set([7, 1, 'x', 1.5]))
    }),
  )
})
