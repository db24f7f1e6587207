import { createServer, type IncomingMessage, request as send, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** A request that left the browser, from any page, worker or the browser itself. */
export interface ObservedRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  body: string
}

/** A proxy for all of a browser's traffic, including that to this computer. */
export interface ObservingProxy {
  /** `HOST:PORT` of the proxy itself. */
  address: string
  /** Plain requests, in order. For TLS only the tunnel is visible, as `CONNECT HOST:PORT`. */
  requests: readonly ObservedRequest[]
  close(): Promise<void>
}

/**
 * Starts a forward proxy that records what it passes on. It reaches only this computer: `hosts` maps further hosts
 * (`*.NAME` for all below NAME) to loopback ports; anything else gets 502 and never leaves the machine.
 */
export async function startObservingProxy(hosts: ReadonlyMap<string, number>): Promise<ObservingProxy> {
  const requests: ObservedRequest[] = []
  const sockets = new Set<Socket>()

  const server = createServer((incoming, outgoing) => {
    void pass(incoming, outgoing)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    const url = incoming.url ?? ''
    requests.push({ method: 'CONNECT', url, headers: {}, body: '' })
    const [host = '', port = ''] = url.split(':')
    client.on('error', () => client.destroy())
    const target = portFor(host, Number(port), hosts)
    if (target === undefined) {
      client.end('HTTP/1.1 502 Not reachable\r\n\r\n')
      return
    }
    const tunnel = connect(target, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connected\r\n\r\n')
      tunnel.write(head)
      tunnel.pipe(client).pipe(tunnel)
    })
    tunnel.on('error', () => client.destroy())
  })

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url = '', headers } = incoming
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    requests.push({ method, url, headers: headers as Record<string, string>, body: body.toString() })
    const target = URL.canParse(url) ? new URL(url) : undefined
    const port = target && portFor(target.hostname, Number(target.port || 80), hosts)
    if (target === undefined || port === undefined) {
      outgoing.writeHead(502).end()
      return
    }
    const path = `${target.pathname}${target.search}`
    const forwarded = send({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(outgoing)
    })
    // Looks to the browser like a closed port.
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    forwarded.end(body)
  }

  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

function portFor(host: string, port: number, hosts: ReadonlyMap<string, number>): number | undefined {
  if (host === 'localhost' || host === '127.0.0.1') return port
  return hosts.get(host) ?? hosts.get(host.replace(/^[^.]+/, '*'))
}
