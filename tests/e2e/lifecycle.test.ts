import { createConnection, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { startAuthServer } from './auth-server.ts'
import { createPerson } from './person.ts'
import { callTool, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

let server: ServerProcess
afterEach(() => server?.close())

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

describe('SIGTERM', () => {
  it('lets a running request end, takes no new one, and exits 0', async () => {
    server = await startServer()
    const body = JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'] })
    const { socket, received } = await connect()
    socket.write(
      [
        'POST /oauth/register HTTP/1.1',
        `Host: ${new URL(server.baseUrl).host}`,
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Expect: 100-continue',
        '',
        '',
      ].join('\r\n'),
    )
    // The response to Expect: the server has accepted the request and waits for its body.
    await until(() => received().includes('100 Continue'), 'the 100 Continue')

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
    // The client keeps the connection alive, which must not delay the server.
    expect(Date.now() - before).toBeLessThan(5000)
    socket.destroy()
  })

  it('does not wait for idle connections', async () => {
    server = await startServer()
    const idle = await Promise.all([connect(), connect()])
    await (await postMcp(server, { method: 'tools/list' })).body?.cancel()
    const before = Date.now()
    expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(Date.now() - before).toBeLessThan(5000)
    for (const { socket } of idle) socket.destroy()
  })
})

describe('the end behind a load balancer', () => {
  it('SIGTERM: not ready at once, while requests are still served for a second', async () => {
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

describe('a second signal', () => {
  /** Opens something that the server would wait for: a request whose body never comes. */
  async function holdUp(): Promise<Socket> {
    const { socket, received } = await connect()
    const host = new URL(server.baseUrl).host
    const head = `Host: ${host}\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue`
    socket.write(`POST /oauth/register HTTP/1.1\r\n${head}\r\n\r\n`)
    await until(() => received().includes('100 Continue'), 'the 100 Continue')
    return socket
  }

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s ends the process at once with %i', async (signal, code) => {
    server = await startServer()
    const socket = await holdUp()
    const ended = server.kill('SIGTERM')
    await server.waitForEvent('stopping')
    await new Promise((resolve) => setTimeout(resolve, 700))
    const before = Date.now()
    void server.kill(signal)
    expect(await ended).toEqual({ code, signal: null })
    expect(Date.now() - before).toBeLessThan(5000)
    socket.destroy()
  })

  it('is not what npm passes on of the same Ctrl-C', async () => {
    server = await startServer()
    const socket = await holdUp()
    const ended = server.kill('SIGINT')
    void server.kill('SIGINT')
    await server.waitForEvent('stopping')
    socket.destroy()
    expect(await ended).toEqual({ code: 0, signal: null })
  })
})

describe('a restart', () => {
  it('forgets nothing: accounts, notes, clients, grants, codes, tokens and open login pages', async () => {
    server = await startServer()
    const person = await createPerson(server)
    const client = await registerPlainClient(server)
    const tokens = await client.connect(person)
    await callTool(server, tokens.access_token, 'add_note', { text: 'still here' })
    const code = await client.code(person)
    const openLoginPage = await person.browser.visit(client.authorizationUrl)

    expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    await server.start()

    expect(await callTool(server, tokens.access_token, 'list_notes')).toContain('still here')
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200)
    const fromCode = (await (await client.redeem(code)).json()) as Tokens
    expect(await callTool(server, fromCode.access_token, 'whoami')).toContain(person.email)
    const { email, password, browser } = person
    const { url } = await browser.submit(openLoginPage, 'password', { email, password })
    expect(url.searchParams.get('code')).not.toBeNull()
  })
})
