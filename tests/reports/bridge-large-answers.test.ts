import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { errorOf, peakMegabytes } from '../support/bridge/process/bridge-child.ts'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import { openBridge } from './odd-server.ts'

const megabyte = 1024 * 1024

/** Asks a server for this that answers with this text. */
async function asked(
  stage: Stage,
  method: string,
  textOf: (id: string) => string,
  options: { flags?: readonly string[]; isStream?: boolean } = {},
): Promise<{ answer: JsonObject; peak: number }> {
  const { url } = await stage.remote({
    era: 'legacy',
    handle({ body, events, json }) {
      if (body['method'] !== method) return false
      const text = textOf(JSON.stringify(body['id']))
      if (options.isStream === true) events(`data: ${text}\n\n`).end()
      else json(200, text)
      return true
    },
  })
  const { bridge } = await openBridge(stage, url, options)
  const answer = await bridge.ask(method, { name: 'x' })
  const peak = peakMegabytes(bridge)
  // It goes on.
  expect(await bridge.ask('ping')).toHaveProperty('result')
  return { answer, peak }
}

/** A list with a hidden tool, and something in it that only lenient parsers take for JSON. */
const list = (odd: string, size: number) => (id: string) =>
  `{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"evil_tool","inputSchema":${odd}},{"name":"fine","description":"${'y'.repeat(size)}"}]}}`

describe.concurrent('a list of tools behind --ignore-tool', () => {
  it.each([
    ...['Infinity', "{'a':1}", '{"a":1,}', '01', '"\t"'].map((odd) => [300_000, odd] as const),
    ...[10, 300_000, 5_000_000].map((size) => [size, 'NaN'] as const),
  ])(
    'a filtered list of tools of %i bytes that is not JSON but for %s is an error, without a word of a hidden tool',
    (size, odd) =>
      staged(async (stage) => {
        const flags = ['--ignore-tool', 'evil_*']
        for (const isStream of [false, true]) {
          const { answer } = await asked(stage, 'tools/list', list(odd, size), { flags, isStream })
          expect(errorOf(answer).message).not.toBe('')
          expect(JSON.stringify(answer)).not.toContain('evil')
        }
      })(),
  )

  it('the filter works on a list of tools of any size', () =>
    staged(async (stage) => {
      const flags = ['--ignore-tool', 'evil_*']
      const { answer } = await asked(stage, 'tools/list', list('{"type":"object"}', 5_000_000), { flags })
      const { tools } = answer['result'] as { tools: { name: string }[] }
      expect(tools.map(({ name }) => name)).toEqual(['fine'])
    })())
})

/** 40 MB each, of which a parser makes gigabytes. */
const dense: Record<string, (id: string) => string> = {
  'a batch of empty objects': () => `[${'{},'.repeat((40 * megabyte) / 3)}{}]`,
  'a result of empty objects': (id) =>
    `{"jsonrpc":"2.0","id":${id},"result":{"a":[${'{},'.repeat((40 * megabyte) / 3)}{}]}}`,
  'members with empty objects': (id) =>
    `{"jsonrpc":"2.0","id":${id},"result":{},"a":[]${',"b":{}'.repeat((40 * megabyte) / 7)}}`,
  'a notification of empty arrays': () =>
    `{"jsonrpc":"2.0","method":"a","params":{"a":[${'[],'.repeat((40 * megabyte) / 3)}0]}}`,
  'an error of empty arrays': (id) =>
    `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"m","data":[${'[],'.repeat((40 * megabyte) / 3)}0]}}`,
}

it.each(Object.keys(dense))(
  'an answer of 40 MB that is %s ends its call by name, and memory stays bounded',
  (name) =>
    staged(async (stage) => {
      const { answer, peak } = await asked(stage, 'tools/call', dense[name] ?? String)
      expect(errorOf(answer).data).toMatchObject({ code: 'server_too_large' })
      expect(peak).toBeLessThan(300)
    })(),
)

it('an answer of 40 MB that is one long text is passed on', () =>
  staged(async (stage) => {
    const text = 'y'.repeat(40 * megabyte)
    const { answer } = await asked(
      stage,
      'tools/call',
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"${text}"}]}}`,
    )
    const { content } = answer['result'] as { content: { text: string }[] }
    expect(content[0]?.text.length).toBe(text.length)
  })())
