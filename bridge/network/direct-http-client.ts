import { createConnectionPool } from './connection-pool.ts'
import { exchangeAddress } from './exchange-address.ts'
import type { ExchangeAddress } from './exchange-address.ts'
import { Exchange } from './exchange.ts'
import type { Attempt, ExchangePlan } from './exchange.ts'
import type { HttpRequest, HttpResponse } from './http-client.ts'
import type { NetworkConfig } from './network-config.ts'
import { requestHeaders } from './request-headers.ts'
import { createRoster } from './roster.ts'
import { createTrustedAuthorities } from './trusted-authorities.ts'

/** Sends requests whose URL was checked before. */
export interface UrlClient {
  /** Rejects with `NetworkError` when no response arrives. */
  send(request: HttpRequest, url: URL): Promise<HttpResponse>
  /** Ends every exchange with the fault `aborted`, and every connection. What is sent later opens new ones. */
  close(): void
}

/**
 * The client for URLs that need no proxy: HTTP/1.1 on sockets of Node. Sends a request a second time by itself in two cases
 * only: when the server closed the kept connection before it can have seen the request, and when TLS failed for want of an
 * authority that the operating system knows.
 */
export function createDirectClient(config: NetworkConfig): UrlClient {
  const trusted = createTrustedAuthorities(config.ca)
  const quickestTrips = new Map<string, number>()
  const open = createRoster<Exchange>()
  const addresses = new WeakMap<URL, ExchangeAddress>()
  const pool = createConnectionPool(config, trusted)
  let latestHead: (Pick<HttpRequest, 'headers' | 'method'> & { url: URL; head: string }) | undefined

  /** Calls of one session have the same headers, in the same object: they are read and checked once. */
  function headOf(
    { headers, method }: HttpRequest,
    url: URL,
    { origin, host, path }: ExchangeAddress,
  ): string {
    const known = latestHead
    if (known?.url === url && known.headers === headers && known.method === method) return known.head
    const usual = { Host: host, 'User-Agent': config.userAgent, Connection: 'keep-alive' }
    const lines = requestHeaders(headers, usual, origin).map(([name, value]) => `${name}: ${value}\r\n`)
    const head = `${method} ${path} HTTP/1.1\r\n${lines.join('')}`
    latestHead = { headers, method, url, head }
    return head
  }

  function attempt(request: HttpRequest, url: URL): Promise<Attempt> {
    const address = addresses.get(url) ?? exchangeAddress(url)
    addresses.set(url, address)
    const plan: ExchangePlan = {
      url,
      address,
      head: headOf(request, url, address),
      pool,
      connectTimeoutMs: config.connectTimeoutMs,
      headersTimeoutMs: request.headersTimeoutMs ?? config.headersTimeoutMs,
      bodyTimeoutMs: request.bodyTimeoutMs ?? config.bodyTimeoutMs,
      quickestTrips,
    }
    return new Exchange(request, plan, open).attempt
  }

  function prepareAgain(remedy: 'new_connection' | 'more_authorities' | undefined): boolean {
    if (remedy === 'new_connection') pool.dropIdle()
    return remedy === 'new_connection' || (remedy === 'more_authorities' && trusted.addSystem())
  }

  return {
    async send(request, url) {
      const first = await attempt(request, url)
      if (first.kind === 'response') return first.response
      if (!prepareAgain(first.remedy)) throw first.error
      const second = await attempt(request, url)
      if (second.kind === 'response') return second.response
      throw second.error
    },
    close() {
      for (const exchange of open.items()) exchange.cancel()
      pool.dropIdle()
    },
  }
}
