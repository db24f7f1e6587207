import { isIP, type LookupFunction } from 'node:net'
import { isLoopbackHost } from './request-url.ts'
import { isLoopbackName, loopbackLookup } from './loopback-lookup.ts'

/** What every request to a URL has in common, read once: `URL` makes its parts anew whenever they are asked for. */
export interface ExchangeAddress {
  origin: string
  /** For the `Host` header. */
  host: string
  isTls: boolean
  /** Whether it is on this computer. */
  isLoopback: boolean
  /** The target of a request (RFC 9112 section 3.2.1). */
  path: string
  /** For node:net and node:tls. */
  connect: { host: string; port: number; servername: string; lookup?: LookupFunction }
}

/** User and password of the URL are not sent. `URL` has made its path and query such that they can go onto the wire. */
export function exchangeAddress(url: URL): ExchangeAddress {
  const { origin, host, protocol, hostname, port } = url
  // An IPv6 address goes without its brackets to whoever connects.
  const peer = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const isTls = protocol === 'https:'
  return {
    origin,
    host,
    isTls,
    isLoopback: isLoopbackHost(hostname),
    path: url.pathname + url.search,
    connect: {
      host: peer,
      port: port === '' ? (isTls ? 443 : 80) : Number(port),
      // Addresses have none (RFC 6066 section 3).
      servername: isTls && isIP(peer) === 0 ? peer : '',
      ...(isLoopbackName(hostname) && { lookup: loopbackLookup }),
    },
  }
}
