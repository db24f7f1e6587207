import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { staged } from '../support/bridge/process/stage.ts'
import type { Received } from '../support/remote/received.ts'
import { until } from '../support/until.ts'
import { openBridge } from './odd-server.ts'

type Answer = (call: Received, message: JsonObject) => void

const ways: Record<string, Answer> = {
  'JSON with 200': ({ json }, message) => json(200, message),
  'JSON with 400': ({ json }, message) => json(400, message),
  'an event': ({ events }, message) => void events().end(`data: ${JSON.stringify(message)}\n\n`),
  'an event of a stream that stays open': ({ events }, message) =>
    void events(`data: ${JSON.stringify(message)}\n\n`),
}

const error = { code: -32_602, message: 'The account 4711 is closed', data: { hint: 'ask billing' } }
const result = { content: [{ type: 'text', text: 'done' }] }

const answering = (answer: (call: Received) => void) => ({
  era: 'legacy' as const,
  handle(call: Received) {
    if (call.body['method'] !== 'tools/call') return false
    answer(call)
    return true
  },
})

describe.concurrent('an error without the id of its request', () => {
  it.each(
    Object.keys(ways).flatMap((way) => [
      [way, 'null', { jsonrpc: '2.0', id: null, error }] as const,
      [way, 'none', { jsonrpc: '2.0', error }] as const,
    ]),
  )(
    'an error without the id of its request, as %s, with the id %s, reaches the client with code, text and data',
    (way, _id, message) =>
      staged(async (stage) => {
        const { url } = await stage.remote(answering((call) => ways[way]?.(call, message)))
        const { bridge } = await openBridge(stage, url)
        expect(await bridge.ask('tools/call', { name: 'x' }, 'call')).toEqual({
          jsonrpc: '2.0',
          id: 'call',
          error,
        })
      })(),
  )

  it.each(['http', 'sse'] as const)(
    'an error without the id of its request on the stream of the session, by the transport %s, reaches the client',
    (transport) =>
      staged(async (stage) => {
        const streams: ServerResponse[] = []
        const remote = await stage.remote({
          era: 'legacy',
          transport,
          handle({ method, response, body }) {
            if (method === 'GET') streams.push(response)
            if (body['method'] !== 'tools/call') return false
            response.writeHead(202).end()
            streams.at(-1)?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', error })}\n\n`)
            return true
          },
        })
        const { bridge } = await openBridge(stage, transport === 'sse' ? remote.sseUrl : remote.url)
        await until(() => streams.length > 0)
        expect(await bridge.ask('tools/call', { name: 'x' }, 'call')).toMatchObject({ id: 'call', error })
      })(),
  )

  it.each(['', 'null', 'server-error', -1])(
    'an error in JSON with the id %j instead of its own reaches the client',
    (id) =>
      staged(async (stage) => {
        const { url } = await stage.remote(answering(({ json }) => json(200, { jsonrpc: '2.0', id, error })))
        const { bridge } = await openBridge(stage, url)
        expect(await bridge.ask('tools/call', { name: 'x' }, 'call')).toMatchObject({ id: 'call', error })
      })(),
  )

  it('an error without the id of its request reaches a client of 2026-07-28', () =>
    staged(async (stage) => {
      const { url } = await stage.remote({
        ...answering(({ json }) => json(200, { jsonrpc: '2.0', id: null, error })),
        era: 'modern',
      })
      const bridge = stage.bridge(url)
      bridge.speakModern()
      expect(await bridge.ask('tools/call', { name: 'x' }, 5)).toMatchObject({ id: 5, error })
    })())
})

describe.concurrent('a response whose id is the number of the request as text', () => {
  it.each(Object.keys(ways))(
    'a response whose id is the number of its request as text, as %s, is its answer',
    (way) =>
      staged(async (stage) => {
        const said = way === 'JSON with 400' ? { error } : { result }
        const { url } = await stage.remote(
          answering((call) => ways[way]?.(call, { jsonrpc: '2.0', id: String(call.body['id']), ...said })),
        )
        const { bridge } = await openBridge(stage, url)
        expect(await bridge.ask('tools/call', { name: 'x' }, 71)).toEqual({ jsonrpc: '2.0', id: 71, ...said })
      })(),
  )
})

const json = { 'Content-Type': 'application/json' }
const eventStream = { 'Content-Type': 'text/event-stream' }

describe.concurrent('a response with the status 202', () => {
  it.each<[as: string, write: (post: ServerResponse, message: string) => void]>([
    ['JSON', (post, message) => post.writeHead(202, json).end(message)],
    ['an event', (post, message) => post.writeHead(202, eventStream).end(`data: ${message}\n\n`)],
  ])('a response with the status 202 as %s is the answer, although a GET stream is open', (_as, write) =>
    staged(async (stage) => {
      const remote = await stage.remote(
        answering(({ body, response }) =>
          write(response, JSON.stringify({ jsonrpc: '2.0', id: body['id'], result })),
        ),
      )
      const { bridge } = await openBridge(stage, remote.url)
      await until(() => remote.streams.size === 1)
      expect(await bridge.call('x')).toBe('done')
    })(),
  )
})

describe.concurrent('a response on the GET stream', () => {
  it.each<[when: string, status: number, answer: (post: ServerResponse, stream: () => void) => void]>([
    [
      'before its POST is accepted with 202',
      202,
      (post, stream) => (stream(), void post.writeHead(202).end()),
    ],
    ['after its POST is accepted with 202', 202, (post, stream) => (post.writeHead(202).end(), stream())],
    [
      'a while after its POST is accepted with 202',
      202,
      (post, stream) => (post.writeHead(202).end(), void setTimeout(stream, 100)),
    ],
    ['after its POST is answered with 204', 204, (post, stream) => (post.writeHead(204).end(), stream())],
    ['after its POST is answered with nothing', 200, (post, stream) => (post.writeHead(200).end(), stream())],
    [
      'after its POST is accepted with a body that says so',
      202,
      (post, stream) => (post.writeHead(202, json).end('{"status":"accepted"}'), stream()),
    ],
  ])('a response on the GET stream %s is the answer to its request', (_when, _status, answer) =>
    staged(async (stage) => {
      const remote = await stage.remote(
        answering(({ body, response }) =>
          answer(response, () => {
            for (const stream of remote.streams)
              stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body['id'], result })}\n\n`)
          }),
        ),
      )
      const { bridge } = await openBridge(stage, remote.url)
      await until(() => remote.streams.size === 1)
      const calls = Array.from({ length: 30 }, () => bridge.call('x'))
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['done']))
    })(),
  )
})
