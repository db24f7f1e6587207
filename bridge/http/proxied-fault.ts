import { NetworkError } from './http-client.ts'
import { errorCode, networkError } from './network-fault.ts'
import { TunnelError } from './proxy-tunnel.ts'

/** Where a request through a proxy stood when it failed. */
export interface ProxiedPlace {
  url: URL
  proxy: URL
  connected: boolean
}

/** The {@link NetworkError} for an error of undici. */
export function explainProxied(cause: unknown, place: ProxiedPlace): NetworkError {
  const { url, proxy, connected } = place
  if (cause instanceof TunnelError) return explainTunnel(cause.cause, place)
  if (refusalOf(cause) !== undefined) return explainTunnel(cause, place)
  // Plain http goes to the proxy itself: there is no way beyond it that we could see fail.
  if (!connected && url.protocol === 'http:') return explainTunnel(cause, place)
  switch (errorCode(cause)) {
    case 'UND_ERR_CONNECT_TIMEOUT':
      return fault(
        'connect_timeout',
        `${url.host} could not be connected to through the proxy ${proxy.host}`,
        place,
        cause,
      )
    default:
      return networkError(cause, { url, connected })
  }
}

function explainTunnel(cause: unknown, place: ProxiedPlace): NetworkError {
  const { url, proxy } = place
  const unsent = { ...place, connected: false }
  const status = refusalOf(cause)
  if (status !== undefined) return fault('proxy', refusalWords(status, url, proxy), unsent, cause)
  if (errorCode(cause) === 'UND_ERR_HEADERS_TIMEOUT') {
    return fault(
      'connect_timeout',
      `the proxy ${proxy.host} gave no connection to ${url.host}`,
      unsent,
      cause,
    )
  }
  const { message } = networkError(cause, { url: new URL(proxy.origin), connected: false })
  return fault('proxy', `the proxy for ${url.origin} cannot be used: ${message}`, unsent, cause)
}

/** The status with which the proxy itself answered. undici has it in its messages only. */
function refusalOf(cause: unknown): number | undefined {
  if (!(cause instanceof Error)) return undefined
  const [, status] = /^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(cause.message) ?? []
  return status === undefined ? undefined : Number(status)
}

function refusalWords(status: number, url: URL, proxy: URL): string {
  const name = `the proxy ${proxy.host}`
  if (status === 407) return `${name} wants a user name and password, or others than it got (407)`
  if (status >= 500) return `${name} could not reach ${url.host} (${status})`
  return `${name} does not allow a connection to ${url.host} (${status})`
}

function fault(
  kind: NetworkError['fault'],
  message: string,
  place: ProxiedPlace,
  cause: unknown,
): NetworkError {
  return new NetworkError(kind, place.url.origin, message, { sent: place.connected, cause })
}
