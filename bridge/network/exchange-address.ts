import type { RequestOptions } from 'node:http'
import { isLoopbackName, loopbackLookup } from './loopback-lookup.ts'

/** What every request to a URL has in common, read once: `URL` makes its parts anew whenever they are asked for. */
export interface ExchangeAddress {
  origin: string
  isTls: boolean
  /** For node:http, which copies them several times for each request: nothing that it does not use. */
  options: Pick<RequestOptions, 'protocol' | 'hostname' | 'port' | 'path' | 'lookup'>
}

/** User and password of the URL are not sent. */
export function exchangeAddress(url: URL): ExchangeAddress {
  const { origin, protocol, hostname, port } = url
  return {
    origin,
    isTls: protocol === 'https:',
    options: {
      protocol,
      // An IPv6 address goes without its brackets to whoever connects.
      hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
      path: url.pathname + url.search,
      ...(port !== '' && { port }),
      ...(isLoopbackName(hostname) && { lookup: loopbackLookup }),
    },
  }
}
