import { createServer, request as forward } from 'node:http'

/**
 * Starts a reverse proxy on loopback for the server at `origin`; requests for `/mcp` get the bearer token of `token`. Host, Origin and
 * the body stay as they are, responses are streamed, and a client that disconnects also ends its upstream request.
 */
export async function startBearerProxy(
  origin: string,
  listenPort: number,
  token: () => string,
): Promise<{ close(): Promise<void> }> {
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
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
