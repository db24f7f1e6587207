import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'

/** Behaviour of a test's proxy. */
export interface ProxyOptions {
  /** Target of every host. */
  targetPort: number
  /** The required `user:password`. */
  credentials?: string
  /** Schemes of the refusal of other credentials, as in `Proxy-Authenticate`. */
  schemes?: string
  /** Answer to CONNECT: a status, none, or the end of the connection. */
  connectAnswer?: number | 'hang' | 'close'
  /** Delays opening tunnels until it resolves. */
  gate?: Promise<void>
  /** Serves the proxy itself over TLS. */
  identity?: { key: string; cert: string }
}

/** A proxy that runs until the test is over. */
export interface TestProxy {
  port: number
  /** Received request lines. */
  lines: string[]
  /** The bytes of received credentials, in Latin-1. */
  credentials: string[]
  sockets: Duplex[]
}

/** Tunnels CONNECT requests and forwards those in absolute form. */
export async function serveProxy(options: ProxyOptions): Promise<TestProxy> {
  const lines: string[] = []
  const credentials: string[] = []
  const sockets: Duplex[] = []
  const { schemes } = options
  const server: Server = options.identity === undefined ? createServer() : createTlsServer(options.identity)

  function isAllowed(request: IncomingMessage): boolean {
    lines.push(`${request.method} ${request.url}`)
    const [, given] = /^Basic (.*)$/.exec(request.headers['proxy-authorization'] ?? '') ?? []
    if (given !== undefined) credentials.push(Buffer.from(given, 'base64').toString('latin1'))
    if (options.schemes !== undefined) return false
    if (options.credentials === undefined) return true
    return (
      request.headers['proxy-authorization'] ===
      `Basic ${Buffer.from(options.credentials).toString('base64')}`
    )
  }

  server.on('connection', (socket: Socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
  })
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => {})
    const refuse = (status: number): void => {
      const asked = schemes === undefined ? '' : `Proxy-Authenticate: ${schemes}\r\n`
      client.write(`HTTP/1.1 ${status} X\r\n${asked}Content-Length: 0\r\n\r\n`)
      // After a 407 it waits for the same request with credentials.
      client.once('end', () => client.end()).resume()
      if (status !== 407) client.end()
    }
    if (!isAllowed(request)) return refuse(407)
    if (options.connectAnswer === 'hang') return void client.resume()
    if (options.connectAnswer === 'close') return void client.destroy()
    if (options.connectAnswer !== undefined) return refuse(options.connectAnswer)
    const open = async (): Promise<void> => {
      await options.gate
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      target.write(head)
      target.pipe(client).pipe(target)
    }
    const target = connect(options.targetPort, '127.0.0.1', () => void open())
    sockets.push(target)
    target.on('error', () => client.destroy())
    target.on('close', () => client.destroy())
    client.on('close', () => target.destroy())
  })
  server.on('request', (request, response) => {
    const asked = schemes === undefined ? {} : { 'Proxy-Authenticate': schemes }
    if (!isAllowed(request)) return void response.writeHead(407, asked).end()
    const { pathname, search } = new URL(request.url ?? '')
    const { method, headers } = request
    const onward = httpRequest(
      { port: options.targetPort, path: `${pathname}${search}`, method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers)
        answer.pipe(response)
        answer.on('error', () => response.destroy())
      },
    )
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return { port: (server.address() as AddressInfo).port, lines, credentials, sockets }
}
