import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A reverse proxy on loopback that is signed in for whoever comes to `/mcp`. */
export interface BearerProxy {
  port: number
  close(): Promise<void>
}

/**
 * Passes everything on to the server at `origin`; what goes to `/mcp` gets the bearer that `token` answers. Host, Origin
 * and the body stay as they are, answers are streamed, and a client that goes away takes its request upstream with it.
 */
export async function startBearerProxy(
  origin: string,
  listenPort: number,
  token: () => string,
): Promise<BearerProxy> {
  const target = new URL(origin)
  const server = createServer((incoming, outgoing) => {
    const upstream = forward(
      {
        host: target.hostname,
        port: target.port,
        method: incoming.method,
        path: incoming.url,
        headers: {
          ...incoming.headers,
          ...(incoming.url === '/mcp' && { authorization: `Bearer ${token()}` }),
        },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
        answer.on('error', () => outgoing.destroy())
      },
    )
    upstream.on('error', () => outgoing.destroy())
    outgoing.on('close', () => upstream.destroy())
    incoming.pipe(upstream)
  })
  await new Promise<void>((resolve) => void server.listen(listenPort, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
