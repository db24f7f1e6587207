import { createServer, type RequestListener, type Server } from 'node:http'
import { OAuthFailure } from './login-port.ts'

/** Servers that listen on one port of every loopback address that a name may mean. */
export interface LoopbackSockets {
  port: number
  /** Resolves when the port is free again; open connections are ended. */
  close(): Promise<void>
}

const maxTries = 10

/**
 * Listens on `host`: for `localhost` on 127.0.0.1 and, where this machine has it, on ::1 too. A browser chooses either,
 * and whoever else had the other one would get its codes. `port` undefined: `preferred` if it is free, else any that is
 * free. Rejects with {@link OAuthFailure} `no_callback_port`.
 */
export async function listenOnLoopback(
  { host, port, preferred }: { host: string; port: number | undefined; preferred: number | undefined },
  answer: RequestListener,
): Promise<LoopbackSockets> {
  const addresses = host === 'localhost' ? ['127.0.0.1', '::1'] : [host]
  if (port !== undefined) {
    const sockets = await tryListen(addresses, port, answer)
    if (sockets !== undefined) return sockets
    throw new OAuthFailure(
      'no_callback_port',
      `Port ${port} of ${host} is taken, and the browser would have to come back to it. ` +
        'End the program that listens there, or choose another port with --callback.',
    )
  }
  for (let tries = 0; tries < maxTries; tries++) {
    const sockets = await tryListen(addresses, tries === 0 ? (preferred ?? 0) : 0, answer)
    if (sockets !== undefined) return sockets
  }
  throw new OAuthFailure('no_callback_port', `No free port of ${host} can be listened on.`)
}

/** Undefined when somebody has the port on one of the addresses. */
async function tryListen(
  addresses: readonly string[],
  wanted: number,
  answer: RequestListener,
): Promise<LoopbackSockets | undefined> {
  const servers: Server[] = []
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(closeServer))
  }
  let port = wanted
  for (const address of addresses) {
    const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, answer)
    try {
      port = await listen(server, address, port)
      servers.push(server)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // A machine without IPv6 has no ::1: there is nobody else there either.
      if (servers.length > 0 && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) continue
      await close()
      if (code === 'EADDRINUSE') return undefined
      throw new OAuthFailure(
        'no_callback_port',
        `Port ${port} of ${address} cannot be listened on: ${code}.`,
        {
          cause: error,
        },
      )
    }
  }
  return { port, close }
}

function listen(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: address, port, exclusive: true }, () => {
      server.removeListener('error', reject)
      // Of a single connection, as when too many files are open: the browser tries again.
      server.on('error', () => undefined)
      const bound = server.address()
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port)
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
