import { createServer, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { listenOn } from './socket-server.ts'
import type { Stage } from './stage.ts'

/** An HTTP proxy with the requests it received. */
export interface ConnectProxy {
  port: number
  /** Method and target of each request line. */
  lines: readonly string[]
  /** Each received `Proxy-Authorization`, decoded. */
  credentials: readonly string[]
}

/**
 * Tunnels CONNECT requests. Every host name leads to `targetPort` of this computer. `credentials` is the required
 * `user:password`.
 */
export async function startConnectProxy(
  stage: Stage,
  { targetPort, credentials }: { targetPort: number; credentials: string },
): Promise<ConnectProxy> {
  const lines: string[] = []
  const seen: string[] = []

  function isAllowed(request: IncomingMessage): boolean {
    lines.push(`${request.method} ${request.url}`)
    const given = /^Basic (.+)$/.exec(request.headers['proxy-authorization'] ?? '')?.[1]
    const text = given === undefined ? undefined : Buffer.from(given, 'base64').toString()
    if (text !== undefined) seen.push(text)
    return text === credentials
  }

  const server = createServer()
  server.on('connect', (request: IncomingMessage, client: Duplex, head: Buffer) => {
    client.on('error', () => {})
    if (!isAllowed(request)) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n')
      return
    }
    const target = connect(targetPort, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      target.write(head)
      target.pipe(client).pipe(target)
    })
    target.on('error', () => client.destroy())
    target.on('close', () => client.destroy())
    client.on('close', () => target.destroy())
  })
  const { port } = await listenOn(stage, server)
  return { port, lines, credentials: seen }
}
