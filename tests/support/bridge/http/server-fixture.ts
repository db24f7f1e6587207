import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import {
  NetworkError,
  type HttpClient,
  type HttpRequest,
  type NetworkConfig,
  readBody,
} from '../../../../bridge/http/http-client.ts'
import { createHttpClient } from '../../../../bridge/http/undici-client.ts'

/** A server that runs until the test is over. */
export interface TestServer {
  port: number
  /** Uses 127.0.0.1 as the host. */
  origin: string
  /** All connections so far. */
  sockets: Socket[]
  close(): Promise<void>
}

/** Starts a server of node:http. */
export function serveHttp(listener: RequestListener): Promise<TestServer> {
  return listen(createHttpServer(listener), 'http', '127.0.0.1')
}

/** Starts a server of node:https; its usual certificates name `localhost` and 127.0.0.1. */
export function serveTls(
  identity: { key: string; cert: string } & ServerOptions,
  listener: RequestListener,
): Promise<TestServer> {
  return listen(createTlsServer(identity, listener), 'https', '127.0.0.1')
}

/** Starts a server that only accepts connections and leaves the rest to the test. */
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

/** Returns a configuration with short limits and no proxy. */
export function networkConfig(changes: Partial<NetworkConfig> = {}): NetworkConfig {
  return {
    connectTimeoutMs: 5000,
    headersTimeoutMs: 5000,
    bodyTimeoutMs: 5000,
    ca: undefined,
    proxy: undefined,
    allowHttp: false,
    userAgent: 'drawbridge/test',
    ...changes,
  }
}

/** Creates a client that is closed when the test is over. */
export function testClient(changes: Partial<NetworkConfig> = {}): HttpClient {
  const client = createHttpClient(networkConfig(changes))
  onTestFinished(() => client.close())
  return client
}

/** Sends a request, by default POST with a short body, and reads the response. */
export async function exchange(
  client: HttpClient,
  url: string,
  changes: Partial<HttpRequest> = {},
): Promise<{ status: number; text: string; headers: Record<string, unknown> }> {
  const response = await client.send({ method: 'POST', url, headers: {}, body: '{}', ...changes })
  const { status, headers } = response
  return { status, headers, text: (await readBody(response, 100_000_000)).toString() }
}

/** Returns the error that `promise` rejects with; fails unless it is a {@link NetworkError}. */
export async function networkErrorOf(promise: Promise<unknown>): Promise<NetworkError> {
  const error: unknown = await promise.then(
    () => new Error('there was an answer'),
    (error: unknown) => error,
  )
  if (error instanceof NetworkError) return error
  throw new Error(`no NetworkError: ${String(error)}`, { cause: error })
}

/**
 * Resolves when `count` requests have arrived on a raw socket, and calls `each` for every one. Bodies are `{}` or
 * empty.
 */
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
