import { connect as connectTcp, type OnReadOpts, type Socket } from 'node:net'
import type { ExchangeAddress } from './exchange-address.ts'
import { Connection, type ConnectionUser } from './connection.ts'
import { nodeTls } from './node-tls.ts'
import type { TrustedAuthorities } from './trusted-authorities.ts'

/** Keeps connections open, and opens them. */
export interface ConnectionPool {
  /** Lends a connection to `address` to a request with that method: the one used last, or a new one. */
  lend(address: ExchangeAddress, user: ConnectionUser, method: string): Connection
  /** Ends those that carry no request. */
  dropIdle(): void
}

/** Load balancers close idle connections after 60 s and more (AWS 60, nginx 75): to be earlier spares us the race. */
const idleMs = 50_000
const mostIdle = 64

const socketOptions = {
  keepAlive: true,
  // The first probe on a silent connection, so that a dead one is noticed while a call waits on it.
  keepAliveInitialDelay: 30_000,
  noDelay: true,
  // Node's 250 ms give up on a far address before it can answer.
  autoSelectFamilyAttemptTimeout: 500,
} as const

/** Connections of this process. There is no bound on how many: requests that wait for one behind streams would never get it. */
export function createConnectionPool(
  { ipv4 }: { ipv4: boolean },
  trusted: TrustedAuthorities,
): ConnectionPool {
  /** By origin; the one that became free last is the last, and the least likely to have been closed by the server. */
  const idle = new Map<string, Connection[]>()
  const sessions = new Map<string, Buffer>()
  let sweeping: NodeJS.Timeout | undefined

  function open(address: ExchangeAddress, onread: OnReadOpts): Socket {
    const { origin, isTls, connect } = address
    const options = { ...socketOptions, ...connect, ...(ipv4 && { family: 4 }), onread }
    if (!isTls) return connectTcp(options)
    const context = trusted.context()
    const session = sessions.get(origin)
    const socket = nodeTls().connect({
      ...options,
      ALPNProtocols: ['http/1.1'],
      ...(context !== undefined && { secureContext: context }),
      ...(session !== undefined && { session }),
    })
    socket.on('session', (latest: Buffer) => sessions.set(origin, latest))
    // What made the handshake fail may be in it.
    socket.on('error', () => sessions.delete(origin))
    return socket
  }

  /** Not kept beyond their time, even if nothing is sent any more. */
  function sweep(): void {
    sweeping = undefined
    for (const connections of idle.values())
      for (const connection of connections.slice()) if (!connection.isUsable(idleMs)) connection.destroy()
    sweepLater()
  }

  function sweepLater(): void {
    if (sweeping !== undefined || [...idle.values()].every(({ length }) => length === 0)) return
    sweeping = setTimeout(sweep, idleMs)
    sweeping.unref()
  }

  return {
    lend(address, user, method) {
      const free = idle.get(address.origin)
      for (let connection = free?.pop(); connection !== undefined; connection = free?.pop()) {
        if (connection.isUsable(idleMs)) {
          connection.lend(user, method)
          return connection
        }
        connection.destroy()
      }
      const { origin, isTls } = address
      const connection = new Connection(
        (onread) => open(address, onread),
        isTls ? 'secureConnect' : 'connect',
        {
          release(released) {
            const kept = idle.get(origin) ?? []
            if (kept.length >= mostIdle || !released.isUsable(idleMs)) return released.destroy()
            kept.push(released)
            idle.set(origin, kept)
            sweepLater()
          },
          remove(gone) {
            const kept = idle.get(origin)
            const at = kept?.indexOf(gone) ?? -1
            if (at !== -1) kept?.splice(at, 1)
          },
        },
      )
      connection.lend(user, method)
      return connection
    },
    dropIdle() {
      for (const connections of idle.values())
        for (const connection of connections.slice()) connection.destroy()
    },
  }
}
