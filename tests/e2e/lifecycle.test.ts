import { writeFileSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startAuthServer } from './auth-server.ts'
import { registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

let server: ServerProcess
afterEach(() => server?.close())
const folder = temporaryFolder(afterAll)

/** A connection to the server for writing piece by piece. */
interface RawConnection {
  socket: Socket
  received(): string
}

async function connect(): Promise<RawConnection> {
  const { port } = new URL(server.baseUrl)
  const socket = createConnection({ host: '127.0.0.1', port: Number(port) })
  let received = ''
  socket.on('data', (chunk) => (received += chunk.toString()))
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  return { socket, received: () => received }
}

function connectionIsRefused(): Promise<boolean> {
  return connect().then(
    ({ socket }) => {
      socket.destroy()
      return false
    },
    () => true,
  )
}

/** Sends the head of a registration; the server has accepted the request then, and waits for its body. */
async function beginRequest(bodyLength: number): Promise<RawConnection> {
  const connection = await connect()
  const host = new URL(server.baseUrl).host
  const head = `Host: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${bodyLength}\r\nExpect: 100-continue`
  connection.socket.write(`POST /oauth/register HTTP/1.1\r\n${head}\r\n\r\n`)
  await until(() => connection.received().includes('100 Continue'), 'the 100 Continue')
  return connection
}

it('SIGTERM lets a running request end, refuses new ones, and exits with 0', async () => {
  server = await startServer()
  const body = JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'] })
  const idle = await Promise.all([connect(), connect()])
  const { socket, received } = await beginRequest(body.length)

  const ended = server.kill('SIGTERM')
  expect(await server.waitForEvent('stopping')).toMatchObject({ signal: 'SIGTERM' })
  await until(connectionIsRefused, 'a refused connection')
  socket.write(body)
  await until(
    () => received().includes('"client_id"'),
    () => `the answer to the running request; so far: ${received()}`,
  )
  expect(received()).toContain('HTTP/1.1 201 Created')
  const before = Date.now()
  expect(await ended).toEqual({ code: 0, signal: null })
  // Clients keep their connections alive, which must not delay the server.
  expect(Date.now() - before).toBeLessThan(5000)
  for (const connection of [socket, ...idle.map((each) => each.socket)]) connection.destroy()
})

describe('the end behind a load balancer', () => {
  it('a server behind a load balancer is not ready at once after SIGTERM, while requests are still served for a second', async () => {
    const provider = await startAuthServer()
    try {
      server = await startServer(provider.settings)
      expect((await server.fetch(`${server.baseUrl}/readyz`)).status).toBe(200)
      const before = Date.now()
      const ended = server.kill('SIGTERM')
      await server.waitForEvent('stopping')
      const ready = await server.fetch(`${server.baseUrl}/readyz`)
      expect([ready.status, await ready.json()]).toEqual([503, { status: 'draining' }])
      // Alive, and usable by clients that have not noticed.
      expect((await server.fetch(`${server.baseUrl}/healthz`)).status).toBe(200)
      await registerPlainClient(server)
      expect(await ended).toEqual({ code: 0, signal: null })
      expect(Date.now() - before).toBeGreaterThan(900)
      expect(await connectionIsRefused()).toBe(true)
    } finally {
      await provider.close()
    }
  })
})

it('SIGTERM ends a server although its tools module has left timers behind', async () => {
  const file = join(folder, 'tools.mjs')
  writeFileSync(file, 'setInterval(() => {}, 1000)\nexport const tools = []\n')
  server = await startServer({ TOOLS: file })
  expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
})

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('a second signal %s ends the process at once with %i', async (signal, code) => {
  server = await startServer()
  const { socket } = await beginRequest(9)
  const ended = server.kill('SIGTERM')
  await server.waitForEvent('stopping')
  await new Promise((resolve) => setTimeout(resolve, 700))
  const before = Date.now()
  void server.kill(signal)
  expect(await ended).toEqual({ code, signal: null })
  expect(Date.now() - before).toBeLessThan(5000)
  socket.destroy()
})

it('a Ctrl-C that npm passes on again does not count as a second signal', async () => {
  server = await startServer()
  const { socket } = await beginRequest(9)
  const ended = server.kill('SIGINT')
  void server.kill('SIGINT')
  await server.waitForEvent('stopping')
  socket.destroy()
  expect(await ended).toEqual({ code: 0, signal: null })
})
