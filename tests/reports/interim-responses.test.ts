import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { UpstreamConnection } from '../../server/mcp/relay/upstream-connection.ts'
import type { HttpUpstream } from '../../server/core/gateway/upstream.ts'
import { testClient } from '../support/bridge/http/server-fixture.ts'
import { staged } from '../support/bridge/process/stage.ts'
import { oddRemote, type Oddities, signInAndCall } from './odd-server.ts'

/** Sent before a response, although the request has no `Expect: 100-continue`. */
const interim = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 100\r\n\r\n',
  'HTTP/1.0 100 Continue\r\nServer: old\r\nX-Note: a\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 102 Processing\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n',
]

it.each(interim)('a sign-in and a call through the bridge pass %j before every response', (bytes) =>
  staged(async (stage) => {
    const oddities: Oddities = {
      answer({ url }, { socket }) {
        // The browser does not expect them either.
        if (url?.startsWith('/authorize') !== true) socket?.write(bytes)
        return false
      },
    }
    const remote = await oddRemote(stage, oddities, { auth: true })
    expect(await signInAndCall(stage, remote.url)).toBe('signed in')
  })(),
)

/** Answers each request with these bytes, in pieces that arrive one by one. */
async function serve(pieces: readonly string[]): Promise<string> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      if (!chunk.toString('latin1').includes('\r\n\r\n')) return
      void (async () => {
        for (const piece of pieces) {
          socket.write(piece)
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`
}

const response = 'HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n!'
const shapes: [string, string[]][] = [
  ['byte by byte', `HTTP/1.1 100 Continue\r\n\r\n${response}`.split('')],
  ['in one piece', [`HTTP/1.1 100 Continue\r\n\r\n${response}`]],
  ['in its body alone', [response.slice(0, 39), response.slice(39)]],
]

it.each(shapes)(
  'the bridge and the gateway read a response with such bytes %s, on a kept connection too',
  async (_, pieces) => {
    const url = await serve(pieces)
    const http = testClient()
    const upstream = new UpstreamConnection({
      url,
      timeoutSeconds: 10,
      connectTimeoutSeconds: 5,
    } as HttpUpstream)
    onTestFinished(() => upstream.close())
    for (let round = 0; round < 2; round += 1) {
      const { body } = await http.send({ method: 'POST', url, headers: {}, body: '{}' })
      expect(await text(body)).toBe(response.slice(39))
      const { signal } = new AbortController()
      const answer = await upstream.send({
        method: 'POST',
        headers: {},
        body: '{}',
        signal,
        mayBeSilent: false,
      })
      expect(await answer.body.text()).toBe(response.slice(39))
    }
  },
)
