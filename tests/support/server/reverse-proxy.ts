import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'

/** Where a request goes, by default with the headers that it came with. */
export interface Onward {
  origin: string
  headers?: OutgoingHttpHeaders
}

/**
 * Starts a reverse proxy at `port` of loopback, which sends each request where `route` says. Host, Origin and body stay as they are,
 * responses are streamed, and a client that disconnects ends its upstream request. A target that does not respond results in 502.
 */
export async function startReverseProxy(
  port: number,
  route: (incoming: IncomingMessage) => Onward,
): Promise<{ close(): Promise<void> }> {
  const server = createServer((incoming, outgoing) => {
    const { origin, headers = incoming.headers } = route(incoming)
    const given = { method: incoming.method ?? 'GET', headers }
    const onward = request(new URL(incoming.url ?? '/', origin), given, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
      answer.on('error', () => outgoing.destroy())
    })
    onward.on('error', () => {
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    })
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve))
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
