import { Transform } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'
import { type Head, oddRemote, openBridge, signInAndCall } from './odd-server.ts'

/** Puts a byte order mark before every body. */
function marked({ status }: Head): Transform | undefined {
  if (status === 204 || status === 202 || status === 302) return undefined
  let isFirst = true
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      // Each byte by itself: a mark may come in pieces.
      if (isFirst) for (const byte of Buffer.from('\ufeff')) this.push(Buffer.of(byte))
      isFirst = false
      done(null, chunk)
    },
  })
}

describe.concurrent('a byte order mark', () => {
  it('a byte order mark is skipped before every body of a server: metadata, tokens, JSON and events', () =>
    staged(async (stage) => {
      for (const era of ['legacy', 'modern'] as const) {
        const remote = await oddRemote(stage, { change: marked }, { auth: true, era })
        expect(await signInAndCall(stage, remote.url)).toBe('signed in')
      }
    })())

  it('a byte order mark is skipped before the data of each event, in the transport of 2024-11-05 too', () =>
    staged(async (stage) => {
      const withMarks = ({ headers }: Head): Transform | undefined => {
        if (!String(headers['content-type']).startsWith('text/event-stream')) return undefined
        return new Transform({
          transform: (chunk: Buffer, _encoding, done) =>
            done(null, String(chunk).replaceAll(/^data: /gm, 'data: \ufeff')),
        })
      }
      for (const transport of ['http', 'sse'] as const) {
        const remote = await oddRemote(stage, { change: withMarks }, { era: 'legacy', transport })
        const { bridge } = await openBridge(stage, transport === 'sse' ? remote.sseUrl : remote.url)
        expect(await bridge.call('echo', { text: 'read' })).toBe('read')
        if (transport === 'http') await until(() => remote.streams.size === 1)
        remote.changeTools()
        await bridge.find(({ method }) => method === 'notifications/tools/list_changed')
      }
    })())

  it.each([
    ['before its first line', (line: string) => `\ufeff${line}\r\n`],
    ['in a line of its own', (line: string) => `\ufeff\r\n${line}\r\n`],
  ])('a byte order mark that a client on Windows writes %s is not a message', (_where, write) =>
    staged(async (stage) => {
      const { url } = await stage.remote({ era: 'legacy' })
      const bridge = stage.bridge(url)
      const clientInfo = { name: 'test', version: '1' }
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
      bridge.child.stdin?.write(
        write(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })),
      )
      expect(await bridge.find(({ id }) => id === 0)).toHaveProperty('result')
      bridge.write({ jsonrpc: '2.0', method: 'notifications/initialized' })
      expect(await bridge.call('echo', { text: 'read' })).toBe('read')
      expect(bridge.messages.filter(({ id }) => id === null)).toEqual([])
    })(),
  )
})
