import { isIP } from 'node:net'
import { type Dispatcher, Pool, type ProxyAgent } from 'undici'

/** The proxy gave no tunnel; `cause` is why. */
export class TunnelError extends Error {
  override readonly name = 'TunnelError'
  /** undici tries again at once, and for ever, after errors with its own code for a closed socket. */
  readonly code = 'ERR_TUNNEL'
}

type Connect = (
  target: { servername?: string | undefined },
  callback: (error: Error | null, socket: unknown) => void,
) => void

/**
 * What opens tunnels for undici's `ProxyAgent`. Any failure of it is a {@link TunnelError}, which tells the way to the
 * proxy from the way beyond. A proxy that takes a connection and never answers is given up after `timeoutMs`, 0 for never.
 */
export function createTunnelFactory(
  timeoutMs: number,
  poolOptions: Pool.Options,
): NonNullable<ProxyAgent.Options['clientFactory']> {
  return (origin, options) => {
    const { connect } = options as { connect: Connect }
    // TLS forbids an address as the server's name, which is what undici passes on for a proxy that has no other.
    const connectByName: Connect = (target, callback) =>
      connect(isIP(target.servername ?? '') === 0 ? target : { ...target, servername: undefined }, callback)
    return new TunnelPool(origin, {
      ...poolOptions,
      headersTimeout: timeoutMs,
      connect: connectByName as NonNullable<Pool.Options['connect']>,
    })
  }
}

class TunnelPool extends Pool {
  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData>
  override connect(
    options: Dispatcher.ConnectOptions,
    callback: (error: Error | null, data: Dispatcher.ConnectData) => void,
  ): void
  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    return super.connect(options).catch((cause: unknown) => {
      throw new TunnelError('no tunnel', { cause })
    })
  }
}
