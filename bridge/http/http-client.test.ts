import { Readable } from 'node:stream'
import * as fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { type HttpResponse, BodyError, readBody, readJson } from './http-client.ts'
import {
  networkErrorOf,
  serveHttp,
  serveRaw,
  testClient,
} from '../../tests/support/bridge/http/server-fixture.ts'

function responseOf(chunks: Buffer[], headers: HttpResponse['headers'] = {}): HttpResponse {
  return { url: 'http://127.0.0.1', status: 200, headers, body: Readable.from(chunks) }
}

it('readBody joins the chunks of a body', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array()), async (parts) => {
      const chunks = parts.map((part) => Buffer.from(part))
      expect(await readBody(responseOf(chunks), 10_000)).toEqual(Buffer.concat(chunks))
    }),
  )
})

it('readBody tells the length of each chunk, and reads on when that is taken', async () => {
  const taken: number[] = []
  const receive = async (bytes: number): Promise<void> => {
    await Promise.resolve()
    taken.push(bytes)
    if (taken.length === 2) throw new Error('enough')
  }
  const body = responseOf([Buffer.alloc(1), Buffer.alloc(2), Buffer.alloc(3)])
  await expect(readBody(body, 10, receive)).rejects.toThrow('enough')
  expect(taken).toEqual([1, 2])
})

it.each([true, false])(
  'readBody ends the connection beyond the limit; length announced: %s',
  async (announced) => {
    const server = await serveHttp((_request, response) => {
      if (announced) response.setHeader('Content-Length', 1_000_000)
      response.write(Buffer.alloc(900_000))
    })
    const response = await testClient().send({ method: 'GET', url: server.origin, headers: {} })
    await expect(readBody(response, 1000)).rejects.toMatchObject({ name: 'BodyError' })
    await vi.waitFor(() => expect(server.sockets[0]?.closed).toBe(true))
  },
)

it('readBody reads a body of exactly the maximum size', async () => {
  expect((await readBody(responseOf([Buffer.alloc(10)], { 'content-length': '10' }), 10)).length).toBe(10)
  await expect(readBody(responseOf([Buffer.alloc(6), Buffer.alloc(5)]), 10)).rejects.toThrow(BodyError)
})

it.each([
  ['readBody', readBody],
  ['readJson', readJson],
])('%s fails when the body breaks off', async (_name, read) => {
  const server = await serveRaw((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'))
  const response = await testClient().send({ method: 'GET', url: server.origin, headers: {} })
  expect(await networkErrorOf(read(response, 100))).toMatchObject({ fault: 'reset', sent: true })
})

it.each([
  ['{"a":[1,"é"]}', { a: [1, 'é'] }],
  ['\uFEFF"with a mark"', 'with a mark'],
  [' null ', null],
])('readJson reads %j', async (text, value) => {
  expect(await readJson(responseOf([Buffer.from(text)]), 100)).toEqual(value)
})

it.each([
  Buffer.from('<html>'),
  Buffer.from(''),
  Buffer.from('{"access_token":"secret"'),
  Buffer.from([0x22, 0xff, 0x22]),
  Buffer.from(JSON.stringify('a'.repeat(99))),
])('readJson finds no JSON in %s, or beyond the limit', async (bytes) => {
  expect(await readJson(responseOf([bytes]), 100)).toBeUndefined()
})
