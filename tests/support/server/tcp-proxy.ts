import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A connection to a server that tests can disrupt. */
export interface TcpProxy {
  port: number
  /** Counts the connections so far. */
  connections(): number
  /** Makes existing connections break at the next write, as after a silent change of the network. */
  goStale(): void
  /** Blocks all traffic in both directions, on old and new connections, without an error. */
  freeze(): void
  /** Delivers everything held back by {@link freeze}. */
  thaw(): void
  close(): Promise<void>
}

/** Starts a proxy on a free port of 127.0.0.1 before the server at `port` of the same address. */
export async function startTcpProxy(port: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let connections = 0
  let frozen = false

  const server = createServer((client) => {
    connections += 1
    const upstream = connect(port, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) socket.on('error', end).on('close', end)
    client.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk) => client.write(chunk))
    if (frozen) for (const socket of pair) socket.pause()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    goStale() {
      for (const [client] of pairs)
        client.removeAllListeners('data').on('data', () => client.resetAndDestroy())
    },
    freeze() {
      frozen = true
      for (const socket of [...pairs].flat()) socket.pause()
    },
    thaw() {
      frozen = false
      for (const socket of [...pairs].flat()) socket.resume()
    },
    async close() {
      for (const socket of [...pairs].flat()) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
