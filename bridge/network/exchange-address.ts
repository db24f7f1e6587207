import type { RequestOptions as HttpsRequestOptions } from 'node:https'
import { isIP } from 'node:net'
import { isLoopbackName, loopbackLookup } from './loopback-lookup.ts'

/** What every request to a URL has in common, read once: `URL` makes its parts anew whenever they are asked for. */
export interface ExchangeAddress {
  origin: string
  /** For the `Host` header. */
  host: string
  isTls: boolean
  /** For node:http, which copies them several times for each request: nothing that it does not use. */
  options: Pick<HttpsRequestOptions, 'protocol' | 'hostname' | 'port' | 'path' | 'lookup' | 'servername'>
}

/** User and password of the URL are not sent. */
export function exchangeAddress(url: URL): ExchangeAddress {
  const { origin, host, protocol, hostname, port } = url
  // An IPv6 address goes without its brackets to whoever connects.
  const peer = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const isTls = protocol === 'https:'
  return {
    origin,
    host,
    isTls,
    options: {
      protocol,
      hostname: peer,
      // Left out, it would be found out for each request. Addresses have none (RFC 6066 section 3).
      servername: isTls && isIP(peer) === 0 ? peer : '',
      path: url.pathname + url.search,
      ...(port !== '' && { port }),
      ...(isLoopbackName(hostname) && { lookup: loopbackLookup }),
    },
  }
}
