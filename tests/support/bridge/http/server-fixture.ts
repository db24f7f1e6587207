import { createServer as createHttpServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { ServerOptions } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { NetworkError } from '../../../../bridge/http/http-client.ts'
import type { HttpClient, HttpRequest } from '../../../../bridge/http/http-client.ts'
import type { NetworkConfig } from '../../../../bridge/http/network-config.ts'
import { createHttpClient } from '../../../../bridge/http/undici-client.ts'
import { readBody } from '../../../../bridge/http/read-body.ts'

/** A server that runs until the test is over. */
export interface TestServer {
  port: number
  /** With 127.0.0.1 as the host. */
  origin: string
  /** All connections so far. */
  sockets: Socket[]
  close(): Promise<void>
}

/** A server of node:http. */
export function serveHttp(listener: RequestListener): Promise<TestServer> {
  return listen(createHttpServer(listener), 'http', '127.0.0.1')
}

/** A server of node:https; its name is `localhost` and its address 127.0.0.1 in usual certificates. */
export function serveTls(
  identity: { key: string; cert: string } & ServerOptions,
  listener: RequestListener,
): Promise<TestServer> {
  return listen(createTlsServer(identity, listener), 'https', '127.0.0.1')
}

/** A server that only takes connections; what happens on them is the test's. */
export function serveRaw(onSocket: (socket: Socket) => void, host = '127.0.0.1'): Promise<TestServer> {
  return listen(createTcpServer(onSocket), 'http', host)
}

async function listen(server: Server, scheme: string, host: string): Promise<TestServer> {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve, reject) => server.listen(0, host, resolve).on('error', reject))
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  onTestFinished(close)
  return { port, origin: `${scheme}://127.0.0.1:${port}`, sockets, close }
}

/** Short limits, no proxy. */
export function networkConfig(changes: Partial<NetworkConfig> = {}): NetworkConfig {
  return {
    connectTimeoutMs: 5000,
    headersTimeoutMs: 5000,
    bodyTimeoutMs: 5000,
    ipv4: false,
    ca: undefined,
    proxy: undefined,
    allowHttp: false,
    userAgent: 'drawbridge/test',
    ...changes,
  }
}

/** A client that is closed when the test is over. */
export function testClient(changes: Partial<NetworkConfig> = {}): HttpClient {
  const client = createHttpClient(networkConfig(changes))
  onTestFinished(() => client.close())
  return client
}

/** Sends a request, POST with a short body unless told otherwise, and reads the answer. */
export async function exchange(
  client: HttpClient,
  url: string,
  changes: Partial<HttpRequest> = {},
): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
  const response = await client.send({ method: 'POST', url, headers: {}, body: '{}', ...changes })
  const { status, headers } = response
  return { status, headers, text: (await readBody(response, 100_000_000)).toString() }
}

/** What `promise` rejects with; fails if it is no {@link NetworkError}. */
export async function networkErrorOf(promise: Promise<unknown>): Promise<NetworkError> {
  const error: unknown = await promise.then(
    () => new Error('there was an answer'),
    (error: unknown) => error,
  )
  if (error instanceof NetworkError) return error
  throw new Error(`no NetworkError: ${String(error)}`, { cause: error })
}

/** Resolves when `count` requests have come in on a raw socket, and calls `each` for every one. Bodies are `{}` or empty. */
export function onRequest(socket: Socket, each: (number: number, head: string) => void): void {
  let seen = 0
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    for (;;) {
      const end = text.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = text.slice(0, end)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      text = text.slice(end + 4 + length)
      seen += 1
      each(seen, head)
    }
  })
}
