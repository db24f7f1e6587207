import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { Stage } from './stage.ts'

/** Listens until the test is over, then drops every connection. Returns the port. */
export async function listenOn(
  stage: Stage,
  server: Server,
  host = '127.0.0.1',
): Promise<{ port: number; sockets: ReadonlySet<Socket> }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, host)
  await once(server, 'listening')
  stage.later(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return { port: (server.address() as AddressInfo).port, sockets }
}

/** Returns the URL of a server that accepts connections but never responds. */
export async function muteServer(stage: Stage): Promise<{ url: string; sockets: ReadonlySet<Socket> }> {
  const { port, sockets } = await listenOn(
    stage,
    createServer((socket) => void socket.resume()),
  )
  return { url: `http://127.0.0.1:${port}/mcp`, sockets }
}
