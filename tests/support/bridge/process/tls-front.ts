import { connect } from 'node:net'
import { createServer } from 'node:tls'
import type { Identity } from '../http/certificate-fixture.ts'
import { listenOn } from './socket-server.ts'
import type { Stage } from './stage.ts'

/** Serves TLS in front of a server of this computer; returns the port. */
export async function startTlsFront(stage: Stage, identity: Identity, targetUrl: string): Promise<number> {
  const targetPort = Number(new URL(targetUrl).port)
  const server = createServer(identity, (socket) => {
    const target = connect(targetPort, '127.0.0.1')
    socket.on('error', () => target.destroy())
    target.on('error', () => socket.destroy())
    socket.on('close', () => target.destroy())
    target.on('close', () => socket.destroy())
    socket.pipe(target).pipe(socket)
  })
  const { port } = await listenOn(stage, server)
  return port
}
