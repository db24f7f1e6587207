import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { describe, expect, it, vi } from 'vitest'
import type { HttpClient, HttpRequest } from './http-client.ts'
import {
  exchange,
  networkErrorOf,
  onRequest,
  serveHttp,
  serveRaw,
  testClient,
  type TestServer,
} from '../../tests/support/bridge/http/server-fixture.ts'

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na'

const get = (client: HttpClient, url: string): ReturnType<typeof exchange> =>
  exchange(client, url, { method: 'GET', body: undefined as never })

/** Answers the first request of each connection; `atSecond` says how the second ends. */
async function serveOnce(seen: string[], atSecond: 'reset' | 'close'): Promise<TestServer> {
  return serveRaw((socket) =>
    onRequest(socket, (number, head) => {
      seen.push(head.split(' ')[0] ?? '')
      if (number === 1) return void socket.write(answer)
      if (atSecond === 'reset') socket.resetAndDestroy()
      else socket.end()
    }),
  )
}

/** Answers, resets the connection when it is told to, and then wakes the thread that waits for its `workerData`. */
const resettingServer = `
const { createServer } = require('node:net')
const { parentPort, workerData: isReset } = require('node:worker_threads')
const server = createServer((socket) => socket.once('data', () => {
  socket.write(${JSON.stringify(answer)})
  parentPort.once('message', () => {
    socket.resetAndDestroy()
    Atomics.store(isReset, 0, 1)
    Atomics.notify(isReset, 0)
  })
}))
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))`

describe('a kept connection that the server has closed', () => {
  it.each(['reset', 'close'] as const)(
    'a kept connection that the server closed is replaced for requests that may be sent twice: %s',
    async (atSecond) => {
      for (const method of ['GET', 'DELETE'] satisfies HttpRequest['method'][]) {
        const seen: string[] = []
        const server = await serveOnce(seen, atSecond)
        const client = testClient()
        await exchange(client, server.origin, { method: 'POST' })
        expect((await exchange(client, server.origin, { method, body: undefined as never })).status).toBe(200)
        expect(seen).toEqual(['POST', method, method])
      }
    },
  )

  it.each(['reset', 'close'] as const)(
    'a kept connection that the server closed is an error for a POST that it may have seen: %s',
    async (atSecond) => {
      const seen: string[] = []
      const server = await serveOnce(seen, atSecond)
      const client = testClient()
      await exchange(client, server.origin)
      expect(await networkErrorOf(exchange(client, server.origin))).toMatchObject({
        fault: 'reset',
        sent: true,
      })
      expect(seen).toEqual(['POST', 'POST'])
      expect((await exchange(client, server.origin)).status).toBe(200)
    },
  )

  it('a kept connection that the server closed is replaced for a POST of which nothing was written', async () => {
    // In a thread: the connection closes while this thread is blocked, so the client cannot have noticed.
    const isReset = new Int32Array(new SharedArrayBuffer(4))
    const server = new Worker(resettingServer, { eval: true, workerData: isReset })
    try {
      const port = await new Promise<number>((resolve) => server.once('message', resolve))
      const client = testClient()
      const origin = `http://127.0.0.1:${port}`
      await exchange(client, origin)
      server.postMessage('reset', [])
      expect(Atomics.wait(isReset, 0, 0, 20_000)).not.toBe('timed-out')
      expect((await exchange(client, origin)).status).toBe(200)
    } finally {
      await server.terminate()
    }
  })

  it('a kept connection that the server closed is replaced together with the other idle ones', async () => {
    const seen: string[] = []
    const server = await serveOnce(seen, 'reset')
    const client = testClient()
    await Promise.all([1, 2, 3].map(() => exchange(client, server.origin)))
    expect(server.sockets).toHaveLength(3)
    expect((await get(client, server.origin)).status).toBe(200)
    expect(seen).toHaveLength(5)
    await vi.waitFor(() => expect(server.sockets.filter(({ destroyed }) => !destroyed)).toHaveLength(1))
  })

  it('a kept connection that the server closed is replaced only once', async () => {
    const server: TestServer = await serveRaw((socket) =>
      onRequest(socket, (number) => {
        if (server.sockets.length === 1 && number === 1) socket.write(answer)
        else socket.resetAndDestroy()
      }),
    )
    const client = testClient()
    await exchange(client, server.origin)
    const error = await networkErrorOf(get(client, server.origin))
    expect(error).toMatchObject({ fault: 'reset', sent: true })
    expect(server.sockets).toHaveLength(2)
  })

  it('a kept connection is not used after its end was noticed', async () => {
    const server = await serveRaw((socket) => onRequest(socket, () => socket.end(answer)))
    const client = testClient()
    for (let round = 0; round < 3; round++) {
      expect((await exchange(client, server.origin)).status).toBe(200)
      await vi.waitFor(() => expect(server.sockets.every(({ closed }) => closed)).toBe(true))
      await delay(5)
    }
    expect(server.sockets).toHaveLength(3)
  })

  it('a kept connection is not used shortly before the server closes it by its Keep-Alive header', async () => {
    const server = await serveHttp((_request, response) =>
      response.setHeader('Keep-Alive', 'timeout=1').end('a'),
    )
    const client = testClient()
    await exchange(client, server.origin)
    await vi.waitFor(() => expect(server.sockets[0]?.closed).toBe(true))
    expect((await exchange(client, server.origin)).text).toBe('a')
  })
})
